import { z } from 'zod'
import { operations } from '../operation.ts'
import { By, isReservedName, tokenRoles } from './access.ts'

const Name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^\P{C}+$/u, { error: 'holds a sign that cannot be seen' })
  .refine((name) => !isReservedName(name), { error: 'is what the audit trail calls a part of Rollcall' })
  .describe('By it the audit trail names who has the token, so that it should say whose it is.')

const Role = z
  .enum(tokenRoles)
  .describe('Each role may do what those before it may; scim may push people to its connection and nothing else.')
const ConnectionName = z.string().min(1).max(40)

/** A token without its secret. */
export const TokenView = z
  .object({
    name: z.string(),
    role: Role,
    connection: ConnectionName.nullable().describe('The connection of a token with the role scim.'),
    state: z.enum(['active', 'expired', 'revoked']),
    createdAt: z.iso.datetime(),
    createdBy: z.string(),
    expiresAt: z.iso.datetime().nullable().describe('Null: it does not expire.'),
    lastUsedAt: z.iso.datetime().nullable().describe('To the minute. Null: never.'),
    revokedAt: z.iso.datetime().nullable(),
    revokedBy: z.string().nullable(),
  })
  .meta({ id: 'Token' })
export type TokenView = z.infer<typeof TokenView>

/** A new token with its secret, which is shown once. */
export const NewToken = TokenView.extend({
  token: z
    .string()
    .describe('What its holder sends as a bearer token or enters at sign-in. It is returned here and never again.'),
}).meta({ id: 'NewToken' })
export type NewToken = z.infer<typeof NewToken>

/** A token that was revoked. */
export const RevokedToken = TokenView.extend({
  sessions: z.int().min(0).describe('How many sign-ins in a browser ended with it.'),
}).meta({ id: 'RevokedToken' })
export type RevokedToken = z.infer<typeof RevokedToken>

/** The tokens by which people and programs are let in over TCP. */
export const tokenOperations = operations({
  listTokens: {
    method: 'GET',
    path: '/tokens',
    permission: 'admin',
    summary: 'The tokens, also those that have ended. The tokens themselves are not kept.',
    success: { 200: z.object({ data: z.array(TokenView) }) },
    errors: [401, 403, 500, 503],
  },
  createToken: {
    method: 'POST',
    path: '/tokens',
    permission: 'admin',
    summary: 'Create a token with a role.',
    body: z.strictObject({
      name: Name,
      role: Role,
      connection: ConnectionName.optional().describe('For the role scim, and only for it: what is pushed to.'),
      expiresAt: z.iso.datetime().optional().describe('When it stops being valid. Left out: never.'),
      by: By,
    }),
    success: { 201: NewToken },
    errors: [400, 401, 403, 409, 500, 503],
  },
  revokeToken: {
    method: 'POST',
    path: '/tokens/:name/revocation',
    permission: 'admin',
    summary: 'Revoke a token and every sign-in that began with it.',
    params: z.object({ name: z.string().min(1).max(100) }),
    body: z.strictObject({ by: By }),
    success: { 200: RevokedToken },
    errors: [400, 401, 403, 404, 500, 503],
  },
})
