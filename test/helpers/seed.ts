/** The seed of stories that are told at random: `ROLLCALL_SEED`, a whole number, or 1. What fails with a seed fails with it again. */
export const seed = Number(process.env.ROLLCALL_SEED ?? 1)
