import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id, page, UserCompact } from './common.ts'
import { customConnections } from './custom-connections.ts'
import { customDataRecords } from './custom-data-records.ts'
import { customDataSessions } from './custom-data-sessions.ts'
import { events } from './events.ts'
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

const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null)
const PersonUser = UserCompact.pick({ id: true, email: true }).extend({
  firstName: orNull(z.string()),
  lastName: orNull(z.string()),
})

/** What a search shows of the employment of a person, and which connection says so. */
const SearchedPerson = PersonStatus.extend({
  id: Id,
  startedAt: orNull(z.string()),
  separatedAt: orNull(z.string()),
  updatedAt: z.string(),
  notHumanReason: orNull(z.string()),
  reasonProvider: orNull(UserCompact.pick({ email: true })),
  hrisConnectionId: orNull(Id),
  idpConnectionId: orNull(Id),
  user: PersonUser.optional(),
})

/** Who did something, to which object and when. */
const EventActor = z.object({
  createdAt: z.string(),
  source: z.string().optional(),
  user: orNull(UserCompact.pick({ email: true })),
  metadata: z.object({ targetEntity: orNull(z.record(z.string(), z.unknown())) }).optional(),
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
  searchPersonnel: { ...personnelSearch.searchPersonnel, success: { 200: page(SearchedPerson) } },
  listEvents: { ...events.listEvents, success: { 200: page(EventActor) } },
  resetPersonnelSync: personnel.resetPersonnelSync,
  getPersonnel: { ...personnel.getPersonnel, success: { 200: PersonStatus } },
})
