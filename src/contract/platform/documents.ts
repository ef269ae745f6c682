import { z } from 'zod'
import { expandQuery } from './common.ts'

/** The kinds of documents that prove something about a device. */
export const deviceEvidence = [
  'PASSWORD_MANAGER_EVIDENCE',
  'AUTO_UPDATES_EVIDENCE',
  'HARD_DRIVE_ENCRYPTION_EVIDENCE',
  'ANTIVIRUS_EVIDENCE',
  'LOCK_SCREEN_EVIDENCE',
] as const

/** The fields that carry the file of a new document; one of them is needed. */
export const fileFields = {
  file: z
    .file({ error: 'must be a file of a form (multipart/form-data)' })
    .optional()
    .describe(
      'PDF, PNG, JPEG, GIF, DOCX, XLSX, PPTX, ODT, ODS or ODP. Only in a form; JSON carries the file in `base64File`.',
    ),
  base64File: z
    .string()
    .refine(isJson, { error: 'must be an object, written as JSON' })
    .meta({ format: 'json' })
    .optional()
    .describe('The file as JSON: `{ "filename", "base64String" }`. The text may begin as a `data:` URL does.'),
}

/** The expansions of user documents, or under the other name those of device documents. */
export function documentExpand(id: 'UserDocumentExpandEnum' | 'DeviceDocumentExpandEnum') {
  return expandQuery(z.enum(['downloadUrl']).meta({ id }))
}

function isJson(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
