/* SPDX-License-Identifier: BSD-3-Clause
 * wring.h - the public C interface of Wring: compressed all-reduce for MPI programs. */
#ifndef WRING_H
#define WRING_H

#include <mpi.h>
#include <wring_version.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @file
 * Terms are those of the MPI standard: a *collective* call is made by all ranks of a communicator,
 * a *local* one by any rank for itself; *blocking* means that the caller's buffers may be reused
 * when the call returns. IN arguments are read, OUT written, INOUT both.
 *
 * Every function returns MPI_SUCCESS or an MPI error code. Errors of calls that take a communicator
 * go through that communicator's error handler, others through that of MPI_COMM_SELF; before
 * MPI_Init and after MPI_Finalize they are only returned. MPI_Error_class and MPI_Error_string
 * work on every code returned while MPI is initialised.
 */

/**
 * A codec: how values are represented between ranks. Handles are immutable, may be used from any
 * thread, by any number of calls at once, and before MPI_Init.
 */
typedef struct MPIX_Codec_s *MPIX_Codec;

/** No codec; what a freed handle becomes. */
#define MPIX_CODEC_NULL ((MPIX_Codec)0)
/** Values as they are. The only error is the rounding of the sum. */
#define MPIX_CODEC_NONE ((MPIX_Codec)1)
/** IEEE 754 binary16: 2^-11 relative per rounding. */
#define MPIX_CODEC_FP16 ((MPIX_Codec)2)
/** bfloat16, 8 bits of precision and the range of float: 2^-8 relative per rounding. */
#define MPIX_CODEC_BF16 ((MPIX_Codec)3)
/** 8-bit integers with one scale per 128 values: max|block|/254 per rounding. */
#define MPIX_CODEC_INT8 ((MPIX_Codec)4)
/** 4-bit integers with one scale per 64 values: max|block|/14 per rounding. */
#define MPIX_CODEC_INT4 ((MPIX_Codec)5)

/**
 * Makes a codec from its specification. Local.
 *
 * @param spec  IN  "name" or "name:parameter=value,...", for example "bf16",
 *                  "int8:block=256,rounding=stochastic,seed=7". `wring_info --codecs` lists names,
 *                  parameters and defaults.
 * @param codec OUT the new handle, set only on success; release it with MPIX_Codec_free.
 *
 * Errors: MPI_ERR_ARG for a null argument or a spec with an unknown name, parameter or value; the
 * error string quotes the spec and points at the place.
 */
int MPIX_Codec_create(const char *spec, MPIX_Codec *codec);

/**
 * Releases a codec made by MPIX_Codec_create and sets the handle to MPIX_CODEC_NULL. Local. Calls
 * that use the codec are not disturbed.
 *
 * Errors: MPI_ERR_ARG for a null, predefined or already freed handle.
 */
int MPIX_Codec_free(MPIX_Codec *codec);

/**
 * Writes the canonical specification of a codec, all parameters written out. Local.
 *
 * @param codec IN    any codec but MPIX_CODEC_NULL.
 * @param buf   OUT   the text, always terminated if *len > 0; may be NULL if *len is 0.
 * @param len   INOUT on entry the size of buf in bytes; on return the size needed with the
 *                    terminating null, as with MPI_Info_get_string. A short buffer gets a truncated
 *                    text, which is no error.
 *
 * Errors: MPI_ERR_ARG.
 */
int MPIX_Codec_to_string(MPIX_Codec codec, char *buf, int *len);

/**
 * All-reduce with compressed traffic. Collective over comm, blocking.
 *
 * Every rank receives the same bytes. Sums and averages of floating-point data travel through the
 * codec; every other combination of type and operator is reduced exactly.
 *
 * @param sendbuf  IN  count elements, never written; or MPI_IN_PLACE on all ranks, the input being
 *                     taken from recvbuf. May be NULL if count is 0.
 * @param recvbuf  OUT count elements, must not overlap sendbuf (INOUT with MPI_IN_PLACE).
 * @param count    IN  number of elements, the same on all ranks, >= 0.
 * @param datatype IN  any MPI datatype, WRING_FLOAT16 or WRING_BFLOAT16; the same on all ranks.
 * @param op       IN  any operator valid for the type in MPI_Allreduce, or WRING_AVG.
 * @param codec    IN  the same codec with the same parameters on all ranks.
 * @param comm     IN  an intra-communicator; an inter-communicator is passed on to MPI_Allreduce.
 *
 * Errors: MPI_ERR_COMM, MPI_ERR_COUNT, MPI_ERR_BUFFER, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ARG
 * (codec), MPI_ERR_NO_MEM; a class of its own (error string "wring: mismatched calls ...") where
 * ranks disagree on count, type, operator or codec; MPI_ERR_OTHER where a transport fails or MPI
 * is not initialised. After an error the communicator can be used again.
 */
int MPIX_Allreduce_compressed(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                              MPI_Op op, MPIX_Codec codec, MPI_Comm comm);

/** MPIX_Allreduce_compressed for counts above INT_MAX. */
int MPIX_Allreduce_compressed_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                                MPI_Datatype datatype, MPI_Op op, MPIX_Codec codec, MPI_Comm comm);

/**
 * 16-bit floating-point datatypes for Wring's own calls: IEEE binary16 and bfloat16, 2 bytes each.
 * Real MPI datatype handles, made at first use and released by the library in MPI_Finalize; plain
 * MPI can send them but not reduce them. MPI_DATATYPE_NULL outside MPI_Init ... MPI_Finalize.
 */
#define WRING_FLOAT16 (WRING_Type_float16())
#define WRING_BFLOAT16 (WRING_Type_bfloat16())
MPI_Datatype WRING_Type_float16(void);
MPI_Datatype WRING_Type_bfloat16(void);

/**
 * Operator for Wring's own calls: the sum divided by the number of ranks, scaled on the way so that
 * it neither overflows nor underflows where the average does not. Floating-point types only
 * (MPI_ERR_OP otherwise). MPI_OP_NULL outside MPI_Init ... MPI_Finalize.
 */
#define WRING_AVG (WRING_Op_avg())
MPI_Op WRING_Op_avg(void);

/** Version of the library at run time, to compare with WRING_VERSION_MAJOR, _MINOR, _PATCH. Local. */
int WRING_Get_version(int *major, int *minor, int *patch);

#ifdef __cplusplus
}
#endif

#endif /* WRING_H */
