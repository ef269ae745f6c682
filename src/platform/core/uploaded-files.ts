import { z } from 'zod'
import { describeIssues } from '../../http/issues.ts'
import { Refusal } from '../../http/refusal.ts'
import { Name } from './input-texts.ts'

/** A file of a request. The media type is what the caller says of it. */
export type UploadedFile = { readonly filename: string; readonly mediaType: string; readonly content: Buffer }

const unknownType = 'application/octet-stream'
// Each text has one way to match, so that a hostile one costs no more than its length.
const dataUrl = /^data:([^;,]*)(?:;[^;,]*)*;base64,/

/** A file that JSON carries. */
export const EncodedFile = z.object({ filename: Name, base64String: z.string() })
export type EncodedFile = z.infer<typeof EncodedFile>

/** The file of a form. Refuses a name that cannot be stored with 400. */
export async function readFile(field: string, file: File): Promise<UploadedFile> {
  const filename = Name.safeParse(file.name)
  if (!filename.success) throw new Refusal(400, describeIssues(filename.error, `${field}: the name of a file`))
  return {
    filename: filename.data,
    mediaType: file.type || unknownType,
    content: Buffer.from(await file.arrayBuffer()),
  }
}

/** The file that JSON carries. Refuses what is not base64 with 400. */
export function decodeFile(field: string, { filename, base64String }: EncodedFile): UploadedFile {
  const [head = '', mediaType = ''] = dataUrl.exec(base64String) ?? []
  const encoded = base64String.slice(head.length).replaceAll(/\s/g, '')
  const content = Buffer.from(encoded, 'base64')
  // Buffer ignores characters that are not base64.
  if (content.toString('base64').replaceAll('=', '') !== encoded.replaceAll('=', '')) {
    throw new Refusal(400, `${field}: the file ${filename} is not encoded in base64`)
  }
  return { filename, mediaType: mediaType || unknownType, content }
}
