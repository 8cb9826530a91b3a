/* SPDX-License-Identifier: BSD-3-Clause
 * wring.h - the public C interface of Wring: compressed all-reduce for MPI programs. */
#ifndef WRING_H
#define WRING_H

#include <mpi.h>
#include <stddef.h>
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
 * "auto": exact, by the fastest way. "auto:SPEC", which MPIX_Codec_create takes, may use SPEC where the
 * library predicts that to be faster than sending values as they are.
 */
#define MPIX_CODEC_AUTO ((MPIX_Codec)6)

/**
 * Makes a codec from its specification. Local.
 *
 * @param spec  IN  "name" or "name:parameter=value,...", for example "bf16",
 *                  "int8:block=256,rounding=stochastic,seed=7"; with "auto:" before it, a codec that
 *                  is used only where it pays. `wring_info --codecs` lists names,
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
 * All-reduce with compressed traffic. Collective over comm, nonblocking: returns when the operation has
 * begun. Buffers must not be touched until the request has completed.
 *
 * @param request OUT an ordinary MPI request, for MPI_Wait, MPI_Test and their kin beside the caller's
 *                    own; it cannot be cancelled. Not for MPI_Start.
 *
 * The first call on a communicator sets up its state and may wait for the other ranks. Calls on one
 * communicator, blocking ones included, are made in the same order by all ranks.
 *
 * The operation moves on inside MPI's own calls (with MPICH: those that wait for or test this request,
 * MPI_Request_get_status excepted) and inside Wring's; with WRING_PROGRESS=thread also by itself. Errors found later are returned by the
 * MPI function that completes the request, and, as MPI knows no communicator for it, go through the
 * error handler of MPI_COMM_WORLD or MPI_COMM_SELF.
 *
 * Other arguments and errors as MPIX_Allreduce_compressed; MPI_ERR_UNSUPPORTED_OPERATION where this MPI
 * offers no way to complete a request (neither Open MPI nor MPICH, and not MPI_THREAD_MULTIPLE).
 */
int MPIX_Iallreduce_compressed(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                               MPI_Op op, MPIX_Codec codec, MPI_Comm comm, MPI_Request *request);

/** MPIX_Iallreduce_compressed for counts above INT_MAX. */
int MPIX_Iallreduce_compressed_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                                 MPI_Datatype datatype, MPI_Op op, MPIX_Codec codec, MPI_Comm comm,
                                 MPI_Request *request);

/**
 * A plan: an all-reduce of fixed buffers that has been decided about and can be started any number of
 * times, as a persistent collective of MPI. A start decides nothing and allocates nothing. A plan is
 * inactive, active from MPIX_Plan_start until its completion has been seen (by MPIX_Plan_wait or
 * MPIX_Plan_test, or through a request of MPIX_Plan_request), and then inactive again.
 */
typedef struct MPIX_Plan_s *MPIX_Plan;

/** No plan; what a freed handle becomes. */
#define MPIX_PLAN_NULL ((MPIX_Plan)0)

/**
 * Makes a plan. Collective over comm; may wait for the other ranks. Ranks that create several plans on
 * a communicator do so in the same order; starts may then come in any order.
 *
 * @param sendbuf  IN  read at each start, between MPIX_Plan_start and the end of that start.
 * @param recvbuf  OUT written by each start.
 * @param info     IN  hints, or MPI_INFO_NULL:
 *                     "wring_algorithm"  "auto" or a name of `wring_info --algorithms`;
 *                     "wring_segment"    bytes of raw data per frame, as WRING_SEGMENT;
 *                     "wring_tune_rules" choices by size, as WRING_TUNE_RULES;
 *                     "wring_progress"   "mpi" or "thread", as WRING_PROGRESS.
 *                     Rank 0's hints count for all; a rank whose own differ says so in a warning. Other
 *                     keys are ignored.
 * @param plan     OUT the new plan, inactive, set only on success; release it with MPIX_Plan_free.
 *
 * Other arguments as MPIX_Allreduce_compressed. The plan may outlive codec and comm. If one rank fails,
 * all do.
 *
 * Errors: those of MPIX_Allreduce_compressed, MPI_ERR_INFO_VALUE for a hint that makes no sense (the
 * error string names key, place and reason).
 */
int MPIX_Allreduce_compressed_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype,
                                   MPI_Op op, MPIX_Codec codec, MPI_Comm comm, MPI_Info info,
                                   MPIX_Plan *plan);

/** MPIX_Allreduce_compressed_init for counts above INT_MAX. */
int MPIX_Allreduce_compressed_init_c(const void *sendbuf, void *recvbuf, MPI_Count count,
                                     MPI_Datatype datatype, MPI_Op op, MPIX_Codec codec, MPI_Comm comm,
                                     MPI_Info info, MPIX_Plan *plan);

/**
 * Starts a plan with the contents that its send buffer has now. Local. All ranks of the communicator start
 * it equally often. Errors: MPI_ERR_REQUEST for an active plan, a null or freed handle.
 */
int MPIX_Plan_start(MPIX_Plan plan);

/** Starts n plans in turn. Errors as MPIX_Plan_start; plans before the one that failed are started. */
int MPIX_Plan_startall(int n, MPIX_Plan plans[]);

/**
 * Waits until the running start of a plan has ended: the result is in its receive buffer, and the plan is
 * inactive. Returns at once for an inactive plan. Errors that the start met are returned here, through the
 * error handler of the plan's communicator; the plan can be started again.
 */
int MPIX_Plan_wait(MPIX_Plan plan);

/** MPIX_Plan_wait for n plans, any of which may be inactive or MPIX_PLAN_NULL. Returns the first error, after
 * all have ended. */
int MPIX_Plan_waitall(int n, MPIX_Plan plans[]);

/**
 * Moves things on without waiting. flag (OUT) is 1 if the plan is inactive or its start has ended, which
 * makes it inactive, else 0. Errors as MPIX_Plan_wait.
 */
int MPIX_Plan_test(MPIX_Plan plan, int *flag);

/**
 * An ordinary MPI request (OUT) that completes with the running start, for MPI_Wait, MPI_Test and their kin
 * beside the caller's own requests; MPI_REQUEST_NULL if the plan is inactive. Local. To be completed or
 * freed by the caller. Seeing it complete makes the plan inactive. See MPIX_Iallreduce_compressed for when
 * things move on and where errors go.
 */
int MPIX_Plan_request(MPIX_Plan plan, MPI_Request *request);

/**
 * Writes how the plan works and why: algorithm, codec, segment, transport, bound, reason. Local. buf and len
 * as in MPIX_Codec_to_string. At any time, also while the plan is active.
 */
int MPIX_Plan_describe(MPIX_Plan plan, char *buf, int *len);

/** What a plan has done on this rank, all starts that have ended taken together. */
typedef struct MPIX_Stats {
  size_t size;                 /**< IN: sizeof(MPIX_Stats), set by the caller */
  long long starts;            /**< starts that have ended */
  long long raw_bytes;         /**< what codec none would have sent under the same algorithm */
  long long wire_bytes;        /**< sent, frame headers included */
  long long frames;            /**< sent */
  long long escapes;           /**< blocks that the codec could not represent and that went raw */
  long long dropped_nonfinite; /**< entries that error feedback had to drop (no codec here does) */
  double seconds_total;        /**< from start to end; like the others for messages of 64 KiB and more */
  double seconds_encode;       /**< of it, in codecs, encoding */
  double seconds_wire;         /**< of it, sending and waiting for frames */
  double seconds_decode;       /**< of it, decoding and adding */
  double max_error;            /**< measured; NaN unless the run was checked */
  double bias;                 /**< measured mean signed error; NaN unless the run was checked */
} MPIX_Stats;

/**
 * Writes as much of the plan's statistics as stats->size says that the caller knows. Local, at any time.
 * Errors: MPI_ERR_ARG for a null argument or a size smaller than that of the member `size`.
 */
int MPIX_Plan_get_stats(MPIX_Plan plan, MPIX_Stats *stats);

/**
 * Releases a plan and sets the handle to MPIX_PLAN_NULL. Local. Before or after its communicator is freed. A
 * plan that is alive in MPI_Finalize is released there. Errors: MPI_ERR_REQUEST for an active plan (which
 * stays as it is), a null or freed handle.
 */
int MPIX_Plan_free(MPIX_Plan *plan);

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
