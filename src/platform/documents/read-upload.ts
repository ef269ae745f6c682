import { describeIssues } from '../../http/issues.ts'
import { Refusal } from '../../http/refusal.ts'
import { decodeFile, EncodedFile, readFile, type UploadedFile } from '../core/uploaded-files.ts'

type FileInput = { readonly file?: File | undefined; readonly base64File?: string | undefined }

/** The kinds of files that documents can be: media type, and how names of them end. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  'application/pdf': ['.pdf'],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': ['.docx'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['.xlsx'],
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': ['.pptx'],
  'application/vnd.oasis.opendocument.text': ['.odt'],
  'application/vnd.oasis.opendocument.spreadsheet': ['.ods'],
  'application/vnd.oasis.opendocument.presentation': ['.odp'],
  'image/gif': ['.gif'],
  'image/jpeg': ['.jpeg', '.jpg'],
  'image/png': ['.png'],
}

/**
 * The file of a request, with the media type that its content shows; what the caller says of the type is not believed. Refuses with
 * 400 a request without exactly one file, an empty file, a file of another kind, and a name that ends as if it were of another kind.
 */
export async function readUpload({ file, base64File }: FileInput): Promise<UploadedFile> {
  if ((file === undefined) === (base64File === undefined))
    throw new Refusal(400, 'one of file and base64File is needed, and not both')
  const upload = file ? await readFile('file', file) : decodeFile('base64File', parseEncoded(base64File ?? ''))
  if (upload.content.length === 0) throw new Refusal(400, 'the file is empty')
  const mediaType = await sniffType(upload.content)
  const endings = mediaType === undefined ? undefined : kinds[mediaType]
  if (mediaType === undefined || endings === undefined)
    throw new Refusal(400, `the file is none of ${Object.values(kinds).flat().join(', ')} by its content`)
  if (!endings.some((ending) => upload.filename.toLowerCase().endsWith(ending)))
    throw new Refusal(400, `the name of the file must end with ${endings.join(' or ')}, which it is by its content`)
  return { ...upload, mediaType }
}

function parseEncoded(json: string): EncodedFile {
  const parsed = EncodedFile.safeParse(JSON.parse(json))
  if (parsed.success) return parsed.data
  throw new Refusal(400, describeIssues(parsed.error, 'base64File'))
}

async function sniffType(content: Buffer): Promise<string | undefined> {
  const { fileTypeFromBuffer } = await import('file-type')
  return (await fileTypeFromBuffer(content))?.mime
}
