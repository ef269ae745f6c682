import { z } from 'zod'
import { Id, SubmittedTimestamp, Timestamp } from '../../contract/platform/common.ts'
import { Name } from '../core/input-texts.ts'
import { refuseUnknownPermissions } from './permissions.ts'

const maxAddresses = 100

/** A new account. */
export const AccountInput = z.strictObject({
  name: Name.describe('How the operator names the account; unique on this platform.'),
  entitlements: z.array(Name).describe('The features of its plan.'),
  termsAcceptedAt: SubmittedTimestamp.nullable().describe('When its terms were accepted; null: not yet.'),
})
export type AccountInput = z.infer<typeof AccountInput>

/** An account by id and name. */
export const AccountSummary = z.object({ id: Id, name: Name }).meta({ id: 'Account' })
export type AccountSummary = z.infer<typeof AccountSummary>

/** An account with its plan and its counts. */
export const AccountListing = z
  .object({
    id: Id,
    name: Name,
    createdAt: Timestamp,
    termsAcceptedAt: Timestamp.nullable(),
    entitlements: z.array(Name),
    counts: z.object({
      workspaces: z.int().min(0),
      personnel: z.int().min(0),
      connections: z.int().min(0),
      identities: z.int().min(0).describe('Live records of its HRIS connections.'),
      keys: z.int().min(0).describe('API keys that work.'),
    }),
  })
  .meta({ id: 'AccountListing' })
export type AccountListing = z.infer<typeof AccountListing>

/** An IPv4 or IPv6 address, or a network in CIDR notation. */
export const AddressRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: ({ input }) => `"${input}" is no IPv4 or IPv6 address, and no network such as 10.0.0.0/8`,
})

/** A new API key. */
export const KeyInput = z.strictObject({
  account: Name,
  name: Name.describe('What the key is for.'),
  permissions: z
    .union([z.array(Name).min(1).superRefine(refuseUnknownPermissions), z.enum(['all', 'all-read'])])
    .describe('Permission keys, or everything that reads, or everything, each including what is added later.'),
  expiresAt: SubmittedTimestamp.nullish().describe('Null: never. Left out: twelve months from now.'),
  allowedAddresses: z
    .array(AddressRange)
    .max(maxAddresses)
    .optional()
    .describe('From where the key may be used. None, or left out: from everywhere.'),
})
export type KeyInput = z.infer<typeof KeyInput>

/** A created key with its secret. */
export const CreatedKey = z
  .object({ id: Id, key: z.string().describe('Shown here and never again.') })
  .meta({ id: 'CreatedKey' })
export type CreatedKey = z.infer<typeof CreatedKey>

/** An API key without its secret. */
export const KeyListing = z
  .object({
    id: Id,
    account: Name,
    name: Name,
    access: z.enum(['custom', 'all-read', 'all']),
    permissions: z.array(Name),
    state: z.enum(['active', 'expires-soon', 'expired', 'revoked']).describe('Soon: within 30 days.'),
    allowedAddresses: z.array(z.string()),
    createdAt: Timestamp,
    expiresAt: Timestamp.nullable(),
    revokedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Key' })
export type KeyListing = z.infer<typeof KeyListing>
