/** Thrown by a worker whose job has to wait without having failed, as when a platform asks for patience. Uses up no attempt. */
export class Postponed extends Error {
  override readonly name = 'Postponed'
  readonly delayMs: number

  constructor(delayMs: number, message = `postponed by ${delayMs} ms`) {
    super(message)
    this.delayMs = delayMs
  }
}
