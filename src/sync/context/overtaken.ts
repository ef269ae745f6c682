/** Thrown where another attempt at the same run has taken over: this one ends without a trace. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
}
