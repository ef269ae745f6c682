/** The people employed, or the rows, of the companies of the table. */
export const companySizes = [0, 1, 2, 5, 10, 27, 99, 100, 101, 2000, 100_000] as const

/** How much of each kind passes in companies of these sizes with the defaults. One more holds the plan. null: as many as there are. */
export const tripPoints: Readonly<Record<string, readonly (number | null)[]>> = {
  leavers: [5, 5, 5, 5, 5, 5, 5, 5, 5, 100, 5000],
  joiners: [null, 25, 25, 25, 25, 25, 25, 25, 25, 500, 25_000],
  leftJoiners: [5, 5, 5, 5, 7, 20, 74, 75, 75, 1500, 75_000],
  unnamedJoiners: [10, 10, 10, 10, 10, 13, 49, 50, 50, 1000, 50_000],
  sameStart: [25, 25, 25, 25, 25, 25, 49, 50, 50, 1000, 50_000],
  sameLeaving: [10, 10, 10, 10, 10, 13, 49, 50, 50, 1000, 50_000],
  returns: [5, 5, 5, 5, 5, 5, 5, 5, 5, 40, 2000],
  redates: [5, 5, 5, 5, 5, 5, 5, 5, 5, 40, 2000],
  contractorFlips: [5, 5, 5, 5, 5, 5, 5, 5, 5, 100, 5000],
  emailChanges: [10, 10, 10, 10, 10, 10, 10, 10, 10, 200, 10_000],
  fieldChanges: [20, 20, 20, 20, 20, 20, 20, 20, 20, 400, 20_000],
  blanks: [5, 5, 5, 5, 5, 5, 5, 5, 5, 100, 5000],
  rejectedRows: [5, 5, 5, 5, 5, 5, 5, 5, 5, 40, 2000],
  shrinkRows: [5, 5, 5, 5, 5, 5, 19, 20, 20, 400, 20_000],
}
