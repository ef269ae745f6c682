import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'
import { ListedField } from './plan-shapes.ts'

const ofConnection = z.object({ connection: z.string() })

/** The meanings that an operator can give a value of HR. */
export const ValueMeaning = z
  .enum(['employed', 'left', 'contractor', 'employee'])
  .describe('employed and left class a status, contractor and employee a value of the contractor column.')

/** A value of HR, its meaning, and who stated it. */
export const ClassifiedValue = z
  .object({
    field: ListedField,
    value: z.string().describe('As it is compared: without blanks around it, in lower case.'),
    as: ValueMeaning,
    by: z.string(),
    at: z.iso.datetime(),
  })
  .meta({ id: 'ClassedValue' })
export type ClassifiedValue = z.infer<typeof ClassifiedValue>

/** How an operator states what values of the status and contractor columns mean. */
export const classifiedValueOperations = operations({
  listValues: {
    method: 'GET',
    path: '/connections/:connection/values',
    permission: 'viewer',
    summary: 'Classified values of the status and contractor columns.',
    params: ofConnection,
    success: { 200: z.object({ data: z.array(ClassifiedValue) }) },
    errors: [400, 401, 404, 500, 503],
  },
  classifyValue: {
    method: 'POST',
    path: '/connections/:connection/values',
    permission: 'operator',
    summary: 'Classify a value that is in no list of the configuration. It takes effect from the next run on.',
    params: ofConnection,
    body: z.strictObject({ value: z.string().max(191), as: ValueMeaning, by: By }),
    success: { 200: ClassifiedValue },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
