import { z } from 'zod'
import { operations } from '../operation.ts'
import { page, UserCompact } from './common.ts'
import { customConnections } from './custom-connections.ts'
import { customDataRecords } from './custom-data-records.ts'
import { customDataSessions } from './custom-data-sessions.ts'
import { hrisUserIdentities, Identity, ItemResult } from './hris-user-identities.ts'
import { personnel } from './personnel.ts'
import { personnelSearch } from './personnel-search.ts'

const ItemOutcome = ItemResult.extend({ data: Identity.pick({ identityId: true, separatedAt: true }).nullable() })
const ItemOutcomes = z.compile(z.array(ItemOutcome))

/** The platform's own example of a failed record nests the error one level deeper than the contract. */
const RecordError = z
  .union([
    z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error),
    z.object({ message: z.string() }),
  ])
  .nullish()
const RecordOutcome = z.object({ id: z.string().optional(), statusCode: z.int(), error: RecordError })
const RecordOutcomes = z.union([z.array(RecordOutcome), RecordOutcome.transform((outcome) => [outcome])])
const recordOutcomes = { 200: RecordOutcomes, 201: RecordOutcomes }

/** The fields that show whether a departure has taken effect. Any status is accepted, also one from a later contract. */
const PersonStatus = z.object({
  employmentStatus: z.string(),
  statusUpdatedAt: z
    .string()
    .nullish()
    .transform((at) => at ?? null),
  user: UserCompact.pick({ email: true }).optional(),
})

/**
 * The operations that a delivery calls. Their responses are parsed only as far as the delivery uses them (the key and the stored leaving
 * date of an item), so that an unexpected value elsewhere does not block people.
 */
export const deliveryOperations = operations({
  ...customConnections,
  ...hrisUserIdentities,
  upsertHrisUserIdentities: {
    ...hrisUserIdentities.upsertHrisUserIdentities,
    success: { 200: ItemOutcomes, 201: ItemOutcomes, 207: ItemOutcomes },
  },
  listCustomDataRecords: customDataRecords.listCustomDataRecords,
  upsertCustomDataRecords: { ...customDataRecords.upsertCustomDataRecords, success: recordOutcomes },
  updateCustomDataRecord: {
    ...customDataRecords.updateCustomDataRecord,
    success: { 200: z.object({ id: z.string() }) },
  },
  deleteCustomDataRecord: customDataRecords.deleteCustomDataRecord,
  listCustomDataSessions: customDataSessions.listCustomDataSessions,
  uploadSessionRecords: { ...customDataSessions.uploadSessionRecords, success: recordOutcomes },
  performSessionAction: customDataSessions.performSessionAction,
  listPersonnel: { ...personnel.listPersonnel, success: { 200: page(PersonStatus) } },
  searchPersonnel: { ...personnelSearch.searchPersonnel, success: { 200: page(PersonStatus) } },
  getPersonnel: { ...personnel.getPersonnel, success: { 200: PersonStatus } },
})
