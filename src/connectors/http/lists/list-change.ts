/** Thrown when the pages that were read cannot be one state of the list. The list is then read again. */
export class ListChange extends Error {
  /** What to do if it does not help to read the list again. */
  readonly help: string

  constructor(problem: string, help: string) {
    super(problem)
    this.help = help
  }
}
