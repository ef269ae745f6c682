import { SaxesParser } from 'saxes'
import type { Failure } from '../../errors.ts'
import { unreadable } from '../file/failures.ts'

const maxDepth = 64
/** A tag or a text that is longer than this is no part of a table. It would have to be kept in memory. */
const maxBytesWithoutEvent = 4 * 1024 * 1024

/** What is called for the elements of an XML document, in their order. Names are without their prefix. */
type XmlHandler = {
  /** `depth`: 1 for the outermost element. */
  readonly open: (name: string, attributes: Readonly<Record<string, string>>, depth: number) => void
  readonly close: (name: string, depth: number) => void
  readonly text?: (text: string) => void
}

type XmlOptions = { readonly name: string; readonly part: string; readonly handler: XmlHandler }

/**
 * Reads an XML part of a workbook, and yields after each chunk. Refuses one that is not well-formed UTF-8, that ends too soon, or that has a
 * document type: workbooks have none, and its entities could grow without limit.
 */
export async function* readXml(chunks: AsyncIterable<Buffer>, options: XmlOptions): AsyncGenerator<void> {
  const { name, part, handler } = options
  const damaged = () =>
    unreadable(`${name} is a workbook whose part ${part} is damaged`, 'have it saved and sent again')
  const parser = new SaxesParser<{ xmlns: false; position: false }>({ xmlns: false, position: false })
  parser.on('error', () => {
    throw damaged()
  })
  let depth = 0
  let isEventSeen = false
  parser.on('opentag', ({ name: tag, attributes }) => {
    isEventSeen = true
    depth += 1
    if (depth > maxDepth) throw damaged()
    handler.open(localName(tag), attributes, depth)
  })
  parser.on('closetag', ({ name: tag }) => {
    handler.close(localName(tag), depth)
    depth -= 1
  })
  parser.on('text', (text) => handler.text?.(text))
  parser.on('cdata', (text) => handler.text?.(text))
  parser.on('doctype', () => {
    throw unreadable(
      `${name} is a workbook whose part ${part} declares a document type`,
      'no workbook does; check what writes it',
    )
  })
  parser.on('xmldecl', ({ encoding = 'utf-8' }) => {
    if (!/^utf-?8$/i.test(encoding))
      throw unreadable(`${name} is a workbook that is not in UTF-8`, 'have it saved by Excel or LibreOffice')
  })
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytesWithoutEvent = 0
  for await (const chunk of chunks) {
    parser.write(decodeOrThrow(() => decoder.decode(chunk, { stream: true }), damaged))
    bytesWithoutEvent = isEventSeen ? 0 : bytesWithoutEvent + chunk.length
    isEventSeen = false
    if (bytesWithoutEvent > maxBytesWithoutEvent) throw damaged()
    yield
  }
  parser.write(decodeOrThrow(() => decoder.decode(), damaged)).close()
}

/** Reads a small part to its end. */
export async function readSmallXml(chunks: AsyncIterable<Buffer>, options: XmlOptions): Promise<void> {
  for await (const _ of readXml(chunks, options));
}

/** The value of an attribute that has a prefix, such as `r:id`. The prefix is for the writer to choose. */
export function prefixedAttribute(attributes: Readonly<Record<string, string>>, name: string): string | undefined {
  const key = Object.keys(attributes).find((one) => one.includes(':') && localName(one) === name)
  return key === undefined ? undefined : attributes[key]
}

function localName(name: string): string {
  const colon = name.indexOf(':')
  return colon < 0 ? name : name.slice(colon + 1)
}

/** The text of some bytes. The error of the decoder is no cause: it may quote the text, which is about people. */
function decodeOrThrow(decode: () => string, damaged: () => Failure): string {
  try {
    return decode()
  } catch {
    throw damaged()
  }
}
