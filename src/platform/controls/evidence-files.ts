import type { Kysely } from 'kysely'
import { z } from 'zod'
import { type ControlCreate, RenewalSchedule } from '../../contract/platform/controls.ts'
import { describeIssues } from '../../http/issues.ts'
import { Refusal } from '../../http/refusal.ts'
import { Day, LongText, Name } from '../core/input-texts.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { decodeFile, EncodedFile, readFile, type UploadedFile } from '../core/uploaded-files.ts'
import type { ControlRow } from './find-control.ts'

/** A file with its metadata. */
type EvidenceFile = UploadedFile & {
  readonly name: string
  readonly description: string | null
  readonly createdOn: string
  readonly renewal: RenewalSchedule
  /** The last valid day; null: no end. */
  readonly validUntil: string | null
}

const maxFiles = 20
const dayLength = 10
/** The last year with four digits. */
const lastYear = 9999

const months: Partial<Record<RenewalSchedule, number>> = {
  ONE_MONTH: 1,
  TWO_MONTHS: 2,
  THREE_MONTHS: 3,
  SIX_MONTHS: 6,
  ONE_YEAR: 12,
}

/** A day; the time that some callers add is ignored. */
const DayOfMoment = z
  .string()
  .transform((moment) => moment.slice(0, dayLength))
  .pipe(Day)

const Metadata = z.object({
  originalFile: Name.describe('The name under which the file was sent.'),
  filename: Name.optional(),
  name: Name.optional(),
  description: LongText.optional(),
  creationDate: DayOfMoment.optional(),
  renewalDate: DayOfMoment.optional(),
  renewalScheduleType: RenewalSchedule.default('NONE'),
})
type Metadata = z.infer<typeof Metadata>

/** The files of a create request, from its form and from base64. Refuses an invalid file, and metadata without a file, with 400. */
export async function evidenceFilesOf(
  { externalEvidence = [], base64Files, externalEvidenceMetadata }: ControlCreate,
  today: string,
): Promise<EvidenceFile[]> {
  const uploaded = await Promise.all(externalEvidence.map((file) => readFile('externalEvidence', file)))
  const encoded = parseList('base64Files', EncodedFile, base64Files).map((file) => decodeFile('base64Files', file))
  const files = [...uploaded, ...encoded]
  if (files.length > maxFiles) throw new Refusal(400, `a control takes at most ${maxFiles} files of evidence at once`)
  const empty = files.find(({ content }) => content.length === 0)
  if (empty) throw new Refusal(400, `the file ${empty.filename} is empty`)
  const metadata = parseList('externalEvidenceMetadata', Metadata, externalEvidenceMetadata)
  const surplus = metadata.find(({ originalFile }) => !files.some(({ filename }) => filename === originalFile))
  if (surplus) {
    throw new Refusal(400, `externalEvidenceMetadata: there is no file ${JSON.stringify(surplus.originalFile)}`)
  }
  const known = new Map(metadata.map((entry) => [entry.originalFile, entry]))
  return files.map((file) => describe(file, known.get(file.filename), today))
}

/** Stores files as evidence of a control. */
export async function storeEvidenceFiles(
  trx: Kysely<PlatformSchema>,
  { id: control_id, workspace_id }: ControlRow,
  files: readonly EvidenceFile[],
  now: Date,
): Promise<void> {
  for (const { name, filename, mediaType, description, createdOn, renewal, validUntil, content } of files) {
    const { id } = await trx
      .insertInto('evidence')
      .values({
        workspace_id,
        name,
        kind: 'EXTERNAL',
        valid_until: validUntil,
        is_uploaded: true,
        created_at: now,
        updated_at: now,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await trx
      .insertInto('evidence_files')
      .values({
        evidence_id: id,
        filename,
        media_type: mediaType,
        description,
        created_on: createdOn,
        renewal,
        content,
      })
      .execute()
    await trx.insertInto('control_evidence').values({ control_id, evidence_id: id }).execute()
  }
}

function parseList<S extends z.ZodType>(field: string, entry: S, json: string | undefined): z.output<S>[] {
  if (json === undefined) return []
  const parsed = z.array(entry).safeParse(JSON.parse(json))
  if (parsed.success) return parsed.data
  throw new Refusal(400, describeIssues(parsed.error, field))
}

function describe(file: UploadedFile, metadata: Metadata | undefined, today: string): EvidenceFile {
  const { creationDate = today, renewalDate, renewalScheduleType = 'NONE' } = metadata ?? {}
  const filename = metadata?.filename ?? file.filename
  return {
    ...file,
    filename,
    name: metadata?.name ?? filename,
    description: metadata?.description ?? null,
    createdOn: creationDate,
    renewal: renewalScheduleType,
    validUntil: renewalDate ?? renewalAfter(creationDate, renewalScheduleType),
  }
}

function renewalAfter(day: string, schedule: RenewalSchedule): string | null {
  const count = months[schedule]
  if (count === undefined) return null
  const renewal = Temporal.PlainDate.from(day).add({ months: count })
  if (renewal.year > lastYear) {
    throw new Refusal(400, `externalEvidenceMetadata: a renewal lies after the year ${lastYear}; check creationDate`)
  }
  return renewal.toString()
}
