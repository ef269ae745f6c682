import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { Failure } from '../../../errors.ts'

/** A password from a file, else from standard input, without the line end behind it. A terminal would show it, so it is asked for elsewhere. */
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
