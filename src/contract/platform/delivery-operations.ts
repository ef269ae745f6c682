import { z } from 'zod'
import { operations } from '../operation.ts'
import { page, UserCompact } from './common.ts'
import { customConnections } from './custom-connections.ts'
import { customDataRecords } from './custom-data-records.ts'
import { customDataSessions } from './custom-data-sessions.ts'
import { hrisUserIdentities, Identity, ItemResult } from './hris-user-identities.ts'
import { personnel } from './personnel.ts'

const ItemOutcome = ItemResult.extend({ data: Identity.pick({ identityId: true, separatedAt: true }).nullable() })
const ItemOutcomes = z.compile(z.array(ItemOutcome))

/** The platform's own example of a failed record nests its error once more than the contract says. */
const RecordError = z
  .union([
    z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error),
    z.object({ message: z.string() }),
  ])
  .nullish()
const RecordOutcome = z.object({ id: z.string().optional(), statusCode: z.int(), error: RecordError })
const RecordOutcomes = z.union([z.array(RecordOutcome), RecordOutcome.transform((outcome) => [outcome])])
const recordOutcomes = { 200: RecordOutcomes, 201: RecordOutcomes }

/** What tells whether a departure has taken effect. A status that is not known yet is one that is not known to mean it. */
const PersonStatus = z.object({
  employmentStatus: z.string(),
  statusUpdatedAt: z
    .string()
    .nullish()
    .transform((at) => at ?? null),
  user: UserCompact.pick({ email: true }).optional(),
})

/**
 * The operations as a delivery calls them. Of the result of an item it relies on nothing but what it uses: whom the result is
 * about, and the leaving date that is stored now. What else a platform says there cannot keep people from being settled.
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
  getPersonnel: { ...personnel.getPersonnel, success: { 200: PersonStatus } },
})
