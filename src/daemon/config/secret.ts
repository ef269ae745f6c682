import { inspect } from 'node:util'
import { Failure } from '../../errors.ts'
import { type Reference, readReferences } from './references.ts'

const shown = '[secret]'

/** A value that never prints. It is read when it is needed; what stands in a file is read from the file again each time. */
export class Secret {
  readonly #parts: readonly Reference[]
  readonly #fault: string | null

  /** `fault`: why it cannot be read, which is told once it is needed. */
  constructor(parts: readonly Reference[], fault: string | null = null) {
    this.#parts = parts
    this.#fault = fault
  }

  /** Refuses with `config_invalid` when it cannot be read, as when the file that held it is gone. */
  async read(): Promise<string> {
    if (this.#fault !== null) throw new Failure('config_invalid', this.#fault)
    return await readReferences(this.#parts)
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
