import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { Failure } from '../../../errors.ts'

/** Reads a password from a file or from standard input, without the line end. Fails with `usage` on a terminal, which would show the password. */
export async function readPassword(file: string | undefined): Promise<string> {
  if (file === undefined && process.stdin.isTTY) {
    throw new Failure('usage', 'a terminal would show the password; give --password-file, or pipe it to standard input')
  }
  const content = file === undefined ? await text(process.stdin) : await read(file)
  return content.replace(/\r?\n$/, '')
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Failure('source_unreadable', `the password file ${file} cannot be read`, { cause: error })
  }
}
