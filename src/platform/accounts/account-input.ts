import { z } from 'zod'
import { SubmittedTimestamp, shortTextLimit, text } from '../../contract/platform/common.ts'

/** How things of the platform are named by its operator. */
export const Name = text(shortTextLimit).min(1)

export const AccountInput = z.strictObject({
  name: Name.describe('How the operator names the account; unique on this platform.'),
  entitlements: z.array(Name).describe('The features of its plan.'),
  termsAcceptedAt: SubmittedTimestamp.nullable().describe('When its terms were accepted; null: not yet.'),
})
export type AccountInput = z.infer<typeof AccountInput>
