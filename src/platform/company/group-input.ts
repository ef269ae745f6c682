import { z } from 'zod'
import { Email } from '../../contract/platform/common.ts'
import { Name } from '../core/input-texts.ts'

/** A group as an identity provider has it. */
export const ProvidedGroup = z.strictObject({
  externalId: Name.describe('The key of the group at the identity provider.'),
  name: Name,
  members: z.array(Email).default([]).describe('The addresses of all people in the group.'),
})
export type ProvidedGroup = z.infer<typeof ProvidedGroup>

/** An identity provider. */
export const Provider = z.strictObject({
  name: Name,
  clientType: z.string().regex(/^[A-Z][A-Z0-9_]{0,99}$/, { error: 'must be a kind such as OKTA_IDENTITY' }),
})
export type Provider = z.infer<typeof Provider>
