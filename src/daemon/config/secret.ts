import { inspect } from 'node:util'
import { type Reference, readReferences } from './references.ts'

const shown = '[secret]'

/** A value that never prints. It is read when it is needed; what stands in a file is read from the file again each time. */
export class Secret {
  readonly #parts: readonly Reference[]

  constructor(parts: readonly Reference[]) {
    this.#parts = parts
  }

  /** Refuses with `config_invalid` when a file that held the secret cannot be read any more. */
  read(): Promise<string> {
    return readReferences(this.#parts)
  }

  toString(): string {
    return shown
  }

  toJSON(): string {
    return shown
  }

  [inspect.custom](): string {
    return shown
  }
}
