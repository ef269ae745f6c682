import { inspect } from 'node:util'
import { Failure } from '../../errors.ts'
import { readReferences, type TextPart } from './references.ts'

const shown = '[secret]'

/** A value that is never printed. Reads its file each time, so that a replaced secret takes effect. */
export class Secret {
  readonly #parts: readonly TextPart[]
  readonly #fault: string | null

  /** `fault`: why it cannot be read; `read` throws it. */
  constructor(parts: readonly TextPart[], fault: string | null = null) {
    this.#parts = parts
    this.#fault = fault
  }

  /** Throws `config_invalid` if it cannot be read. */
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
