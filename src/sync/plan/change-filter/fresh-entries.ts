import { digestBytes, type Entries } from './export-index.ts'
import { Bytes, Numbers } from './growing.ts'

type FreshEntry = {
  readonly digest: string
  readonly kind: number
  readonly identityId: string
  /** The digest of the e-mail address; null where it is not kept. */
  readonly address: string | null
}

/** Entries of records that the last index does not hold. */
export class FreshEntries {
  readonly #digests = new Bytes()
  readonly #kinds = new Bytes()
  readonly #keys = new Bytes()
  readonly #keyEnds = new Numbers()
  readonly #addresses = new Bytes()

  /** Adds an entry and returns its number among the fresh ones. */
  add({ digest, kind, identityId, address }: FreshEntry): number {
    if (address !== null) {
      this.#addresses.addZeros(this.#keyEnds.length * digestBytes - this.#addresses.length)
      this.#addresses.addText(address, 'latin1')
    }
    this.#digests.addText(digest.slice(0, digestBytes), 'latin1')
    this.#kinds.push(kind)
    this.#keys.addText(identityId, 'utf8')
    this.#keyEnds.push(this.#keys.length)
    return this.#keyEnds.length - 1
  }

  /** All entries, until the next one is added. */
  all(): Entries {
    return {
      digests: this.#digests.all,
      kinds: this.#kinds.all,
      keys: this.#keys.all,
      keyEnds: this.#keyEnds.all,
      addresses: this.#addresses.all,
    }
  }
}
