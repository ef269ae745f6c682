import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id, listQuery, page, maxShortTextLength, Timestamp, text } from './common.ts'

const entitlement = 'CUSTOM_CONNECTIONS_AND_TESTS'

/** How many records one request may hold. */
const maxRecordsPerRequest = 10_000

const sessionKeyPattern = /^[A-Za-z0-9_-]*$/

/** A record of any shape. */
export const DataRecord = z.record(z.string(), z.unknown())
export type DataRecord = z.infer<typeof DataRecord>

/** The key of a record, as the caller chose it or as the platform generated it. */
export const RecordKey = text(maxShortTextLength).min(1)

/** The key that the caller chooses for a session. */
export const SessionKey = z
  .string()
  .min(3)
  .max(64)
  .regex(sessionKeyPattern, { error: 'must consist of letters, digits, hyphens and underscores' })

const data = z
  .union([z.array(DataRecord).max(maxRecordsPerRequest), DataRecord], {
    error: `must be a record, or a list of at most ${maxRecordsPerRequest} records`,
  })
  .describe(
    'One record or several. The key of a record is its `id`: a known one replaces that record, a new one creates, and a record without one gets a UUID.',
  )

const RecordUpload = z.object({ data }).meta({ id: 'CreateCustomDataRequestPublicV2Dto' })

/** The body of an upload in a session. */
export const SessionUpload = z.object({ data }).meta({ id: 'CreateCustomDataSessionRequestPublicV2Dto' })

const RecordUpdate = z
  .object({ data: DataRecord.describe('The properties to change; the others keep their values.') })
  .meta({ id: 'UpdateCustomDataRequestPublicV2Dto' })

/** A stored record. */
export const CustomDataRecord = z
  .object({
    id: z.string().describe('The key of the record.'),
    attributes: DataRecord.describe('The record as it was sent.'),
    sessionId: z.string().nullable().describe('The session it belongs to; null for one that was uploaded directly.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'CustomDataResponsePublicV2Dto' })
export type CustomDataRecord = z.infer<typeof CustomDataRecord>

const CustomDataRecordPage = page(CustomDataRecord).meta({ id: 'CustomDataRecordsResponsePublicV2Dto' })

/** The result of a single record. */
export const SingleResult = z.object({
  id: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  statusCode: z.int().describe('201: created. 200: updated, or nothing to change.'),
  data: DataRecord.describe('The record as it was sent.'),
})
export type SingleResult = z.infer<typeof SingleResult>

/** The result of one record of a list. */
export const BulkResult = z.object({
  id: z.string().optional().describe('Missing for a refused record that names no key.'),
  createdAt: z.string().optional(),
  updatedAt: z.string().optional(),
  statusCode: z.int().describe('201: created. 200: updated, or nothing to change. 400: refused.'),
  data: DataRecord.describe('The record as it was sent.'),
  error: z.object({ message: z.string(), code: z.int() }).optional().describe('Why the record was refused.'),
})
export type BulkResult = z.infer<typeof BulkResult>

/** What an upload answers: for a single record its result, for a list one result each, in the order of the request. */
export const uploadResults = { 200: z.union([SingleResult, z.array(BulkResult)]), 201: SingleResult }

/** Which resource of which connection a path names. */
export const resourceParams = { connectionId: Id, resourceId: Id }

const resourcePath = z.object(resourceParams)
const recordPath = z.object({ ...resourceParams, recordId: RecordKey })

/** The records of a `CUSTOM` connection. */
export const customDataRecords = operations({
  listCustomDataRecords: {
    method: 'GET',
    path: '/custom-connections/:connectionId/resources/:resourceId/records',
    summary: 'List Custom Data Records',
    description: 'The live records of a resource, or those of one session.',
    permission: 'custom-connections-get',
    entitlement,
    params: resourcePath,
    query: z.object({
      ...listQuery,
      sessionId: SessionKey.optional().describe('Only the records of this session, also while it is in progress.'),
    }),
    success: { 200: CustomDataRecordPage },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  upsertCustomDataRecords: {
    method: 'POST',
    path: '/custom-connections/:connectionId/resources/:resourceId/records',
    summary: 'Upsert Custom Data Records',
    description:
      'Create or replace live records. Of a list every record is judged by itself, so a bad one does not stop the others. Where a session is active, the records join it.',
    permission: 'custom-connections-data-post',
    entitlement,
    params: resourcePath,
    body: RecordUpload,
    success: uploadResults,
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
  updateCustomDataRecord: {
    method: 'PUT',
    path: '/custom-connections/:connectionId/resources/:resourceId/records/:recordId',
    summary: 'Update Custom Data Record',
    description: 'Change properties of one live record.',
    permission: 'custom-connections-data-put',
    entitlement,
    params: recordPath,
    body: RecordUpdate,
    success: { 200: CustomDataRecord },
    errors: [400, 401, 402, 403, 404, 412, 413, 500],
  },
  deleteCustomDataRecord: {
    method: 'DELETE',
    path: '/custom-connections/:connectionId/resources/:resourceId/records/:recordId',
    summary: 'Delete Custom Connection Data Record',
    description: 'Delete one live record.',
    permission: 'custom-connections-data-delete',
    entitlement,
    params: recordPath,
    success: { 204: null },
    errors: [400, 401, 402, 403, 404, 412, 500],
  },
})
