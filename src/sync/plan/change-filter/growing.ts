/** Whole numbers in four bytes each. */
export class Numbers {
  #numbers = new Int32Array(1024)
  length = 0

  push(number: number): void {
    if (this.length === this.#numbers.length) {
      const larger = new Int32Array(2 * this.length)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.length] = number
    this.length += 1
  }

  get(at: number): number {
    return this.#numbers[at] ?? 0
  }

  set(at: number, number: number): void {
    this.#numbers[at] = number
  }

  /** Forgets all of them. */
  clear(): void {
    this.length = 0
  }

  /** All of them, until the next one is added. */
  get all(): Int32Array {
    return this.#numbers.subarray(0, this.length)
  }
}

/** Bytes one after the other. */
export class Bytes {
  #bytes = Buffer.allocUnsafe(16 * 1024)
  length = 0

  add(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  addText(text: string, encoding: 'utf8' | 'latin1'): void {
    this.#makeRoom(Buffer.byteLength(text, encoding))
    this.length += this.#bytes.write(text, this.length, encoding)
  }

  addZeros(count: number): void {
    this.#makeRoom(count)
    this.#bytes.fill(0, this.length, this.length + count)
    this.length += count
  }

  push(byte: number): void {
    this.#makeRoom(1)
    this.#bytes[this.length] = byte
    this.length += 1
  }

  /** All of them, until the next ones are added. */
  get all(): Buffer {
    return this.#bytes.subarray(0, this.length)
  }

  #makeRoom(bytes: number): void {
    if (this.length + bytes > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes], this.#bytes.length * 2 + bytes)
  }
}
