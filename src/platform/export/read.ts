import { Tokenizer, TokenParser } from '@streamparser/json'
import { Failure } from '../../errors.ts'
import { ExportHeader, ExportSequences } from './header.ts'

/** A part of an export, in the order of the document. Rows are objects whose numbers keep all digits. */
type ExportPart =
  | { readonly kind: 'header'; readonly header: ExportHeader }
  | { readonly kind: 'sequences'; readonly sequences: ExportSequences }
  | { readonly kind: 'row'; readonly table: string; readonly row: unknown }
  | { readonly kind: 'table'; readonly table: string }

/** Makes a value that `JSON.stringify` writes unchanged. TypeScript does not declare it yet. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): number }

/** Reads the parts of an export, chunk by chunk. Fails with `config_invalid` if the document is broken or truncated. */
export async function* readExport(source: AsyncIterable<Uint8Array>): AsyncGenerator<ExportPart[]> {
  const parts: ExportPart[] = []
  const parser = createParser((part) => parts.push(part))
  for await (const piece of source) {
    rethrowAsFailure(() => parser.write(piece))
    yield parts.splice(0)
  }
  rethrowAsFailure(() => parser.end())
  yield parts.splice(0)
}

function createParser(onPart: (part: ExportPart) => void) {
  const tokens = new ExactTokenizer()
  const values = new TokenParser({ paths: ['$.export', '$.sequences', '$.tables.*', '$.tables.*.*'], keepStack: false })
  tokens.onToken = (token) => values.write(token)
  values.onValue = ({ value, key, parent, stack }) => {
    if (stack.length === 3) {
      // The parser collects the rows of a table in an array; only the name of the table is needed.
      if (Array.isArray(parent)) parent.length = 0
      onPart({ kind: 'row', table: String(stack[2]?.key), row: value })
    } else if (stack.length === 2) onPart({ kind: 'table', table: String(key) })
    else if (key === 'export') onPart({ kind: 'header', header: parse(ExportHeader, value, 'export') })
    else onPart({ kind: 'sequences', sequences: parse(ExportSequences, value, 'sequences') })
  }
  return {
    write: (piece: Uint8Array) => tokens.write(piece),
    end() {
      if (!tokens.isEnded) tokens.end()
      if (!values.isEnded) values.end()
    },
  }
}

/** Keeps the digits of numbers that JavaScript would round, for example in a JSON column. */
class ExactTokenizer extends Tokenizer {
  protected override parseNumber(text: string): number {
    const number = Number(text)
    return String(number) === text ? number : rawJSON(text)
  }
}

function parse<T>(
  schema: { safeParse(value: unknown): { success: true; data: T } | { success: false } },
  value: unknown,
  key: string,
): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new Failure(
    'config_invalid',
    `this is no export of a platform that this version can read: "${key}" is not as it should be`,
  )
}

function rethrowAsFailure(read: () => void): void {
  try {
    read()
  } catch (error) {
    if (error instanceof Failure) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new Failure('config_invalid', `the export is broken or cut off: ${reason}`, { cause: error })
  }
}
