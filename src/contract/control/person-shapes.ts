import { z } from 'zod'
import { deprecatedName } from './deprecated.ts'
import { HoldBack } from './hold-backs.ts'
import { Leaver } from './leavers.ts'
import { LeftOutPerson } from './left-out.ts'
import { Count, Instant, PersonChange, RecordView } from './plan-shapes.ts'
import { StatedDeparture } from './stated-departures.ts'

const Fault = z.object({
  column: z.string().nullable(),
  reason: z.string(),
  source: z.string().nullable(),
  line: Count,
})

/** Everything known of a person: desired and confirmed records, faults, changes and departures. */
export const Person = z
  .object({
    connection: z.string(),
    identityId: z.string(),
    desired: RecordView.nullable().describe('What HR says.'),
    wanted: deprecatedName(RecordView.nullable(), 'desired'),
    confirmed: RecordView.nullable().describe('What the platform acknowledged last.'),
    due: z.array(z.string()).describe('The fields in which the two differ.'),
    asOf: Instant.nullable().describe('The time as of which HR states the desired values.'),
    inferred: z.boolean().describe('The desired leaving date was inferred.'),
    deferredTo: z.string().nullable().describe('A stated leaving date that waits for its day.'),
    waiting: z
      .array(
        z.object({
          effectiveOn: z.string().describe('The day on which the row takes effect.'),
          leaves: z.boolean().describe('The row speaks of leaving.'),
          leavingDate: z.string().nullable().describe('The leaving date that it states.'),
          fields: z.array(z.string()).describe('The fields that it states.'),
        }),
      )
      .describe('Rows that wait for their day, the earliest first.'),
    absences: Count,
    retracted: z.object({ reason: z.string(), at: Instant }).nullable(),
    heldBack: HoldBack.omit({ identityId: true })
      .nullable()
      .describe('Whether an operator holds leavings of this person back.'),
    statedDeparture: StatedDeparture.omit({ identityId: true })
      .nullable()
      .describe('A departure that an operator states and HR does not yet.'),
    leftOut: LeftOutPerson.omit({ connection: true, identityId: true, name: true, ageSeconds: true })
      .optional()
      .describe('What waits since a part of a plan was approved without the person. Absent: nothing.'),
    keys: z.array(z.string()).describe('Further keys by which HR has named this person since.'),
    forgotten: z.literal(true).optional().describe('The values were removed on request.'),
    overtaken: z
      .array(
        z.object({
          id: z.string(),
          eventId: z.string().nullable(),
          runId: z.string().nullable(),
          receivedAt: Instant,
          reason: z.string(),
        }),
      )
      .optional()
      .describe('Events of late that had no effect on the person, the newest first; left out where there is none.'),
    blockedBy: z
      .array(Fault)
      .optional()
      .describe(
        'What HR has to correct in the rows of the person: what cannot be read, and what contradicts itself. Left out where there is nothing.',
      ),
    unserved: deprecatedName(z.array(Fault), 'blockedBy'),
    changes: z.array(PersonChange).describe('Newest first.'),
    leavers: z.array(Leaver).describe('How far each departure of the person has come, the newest first.'),
  })
  .meta({ id: 'Person' })
export type Person = z.infer<typeof Person>
