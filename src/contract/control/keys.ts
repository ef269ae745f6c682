import { z } from 'zod'
import { operations } from '../operation.ts'
import { By } from './access.ts'

const Key = z.string().min(1).max(191)
const Count = z.number().int().min(0)
const Same = z
  .boolean()
  .describe('True: both keys name one person, whom the platform keeps under the old key. False: two people.')

const Keys = {
  former: z.string().describe('The key under which the platform has the person.'),
  identityId: z.string().describe('The key that HR uses now.'),
}

/** An operator's answer whether two keys name one person. */
export const KeyAnswer = z
  .object({ ...Keys, same: Same, by: z.string(), at: z.iso.datetime() })
  .meta({ id: 'KeyAnswer' })
export type KeyAnswer = z.infer<typeof KeyAnswer>

/** An old key and a new one that look like one person. */
export const KeyPair = z
  .object({
    runId: z.string().describe('The held run that found it.'),
    ...Keys,
    by: z
      .enum(['email', 'name', 'both'])
      .describe('What both have in common: the e-mail address, the full name with the start date, or all of it.'),
    clear: z
      .boolean()
      .describe(
        'True: the pair is unambiguous. False: one of the keys is in another pair too, or several people look alike.',
      ),
  })
  .meta({ id: 'KeyPair' })
export type KeyPair = z.infer<typeof KeyPair>

/** How many pairs of keys an operator answered, and how many held plans that affects. */
export const AnsweredKeys = z
  .object({
    answered: Count.describe('How many pairs are answered now.'),
    unclear: Count.describe('How many pairs of the run have no answer, because they are ambiguous (`clear` is false).'),
    moved: Count.describe('How many held plans contain these people: an approval makes them again.'),
  })
  .meta({ id: 'KeysAnswered' })
export type AnsweredKeys = z.infer<typeof AnsweredKeys>

const ofConnection = z.object({ connection: z.string() })
const errors = [400, 401, 403, 404, 409, 500, 503] as const

/** Operations on changed keys: the candidates, and the operators' answers. */
export const keyOperations = operations({
  listKeys: {
    method: 'GET',
    path: '/connections/:connection/keys',
    permission: 'viewer',
    summary: 'Pairs of keys in held plans that look like one person, and earlier answers.',
    params: ofConnection,
    query: z.object({ limit: z.int().min(1).max(1000).default(1000).describe('Maximum number of pairs.') }),
    success: { 200: z.object({ pairs: z.array(KeyPair), answers: z.array(KeyAnswer) }) },
    errors,
  },
  answerKeys: {
    method: 'POST',
    path: '/connections/:connection/keys',
    permission: 'operator',
    summary: 'Say whether two keys name one person or two. Held plans with these keys are made again once approved.',
    params: ofConnection,
    body: z.strictObject({ former: Key, identityId: Key, same: Same, by: By }),
    success: { 200: AnsweredKeys },
    errors,
  },
  withdrawKeys: {
    method: 'POST',
    path: '/connections/:connection/keys/withdrawal',
    permission: 'operator',
    summary: 'Withdraw an answer about two keys.',
    params: ofConnection,
    body: z.strictObject({ former: Key, identityId: Key, by: By }),
    success: { 200: AnsweredKeys },
    errors,
  },
  answerPairs: {
    method: 'POST',
    path: '/runs/:runId/keys',
    permission: 'operator',
    summary:
      'Answer for all pairs of keys of a held run. Pairs that are not clear are skipped if the answer is one person.',
    params: z.object({ runId: z.uuid() }),
    body: z.strictObject({ same: Same, by: By }),
    success: { 200: AnsweredKeys },
    errors,
  },
})
