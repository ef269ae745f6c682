import { z } from 'zod'
import { Id, Timestamp } from '../contract/common.ts'
import { operations } from '../contract/operation.ts'
import { EmploymentStatus } from '../contract/personnel.ts'

/** Where a running platform serves its operator, beside the public interface. */
export const operatorPrefix = '/operator/v1'

const Name = z.string().min(1).max(191)

export const AccountInput = z.strictObject({
  name: Name.describe('How the operator names the account; unique on this platform.'),
  entitlements: z.array(Name).describe('The features of its plan.'),
  termsAcceptedAt: Timestamp.nullable().describe('When its terms were accepted; null: not yet.'),
})
export type AccountInput = z.infer<typeof AccountInput>

export const AccountSummary = z.object({ id: Id, name: Name }).meta({ id: 'Account' })
export type AccountSummary = z.infer<typeof AccountSummary>

export const KeyInput = z.strictObject({
  account: Name,
  name: Name.describe('What the key is for.'),
  permissions: z
    .union([z.array(Name).min(1), z.enum(['all', 'all-read'])])
    .describe('Permission keys, or everything that reads, or everything, each including what is added later.'),
  expiresAt: Timestamp.nullish().describe('Null: never. Left out: twelve months from now.'),
})
export type KeyInput = z.infer<typeof KeyInput>

export const CreatedKey = z
  .object({ id: Id, key: z.string().describe('Shown here and never again.') })
  .meta({ id: 'CreatedKey' })
export type CreatedKey = z.infer<typeof CreatedKey>

export const KeyListing = z
  .object({
    id: Id,
    account: Name,
    name: Name,
    access: z.enum(['custom', 'all-read', 'all']),
    permissions: z.array(Name),
    state: z.enum(['active', 'expired', 'revoked']),
    createdAt: Timestamp,
    expiresAt: Timestamp.nullable(),
    revokedAt: Timestamp.nullable(),
  })
  .meta({ id: 'Key' })
export type KeyListing = z.infer<typeof KeyListing>

export const SyncResult = z
  .object({
    id: Id,
    trigger: z.enum(['schedule', 'operator']),
    startedAt: Timestamp,
    durationMs: z.int().min(0),
    identities: z.int().min(0).describe("Live records of the account's HRIS connections."),
    created: z.int().min(0).describe('People who had no personnel entry before.'),
    changed: z.int().min(0).describe('People whose status or dates changed.'),
    counts: z.record(EmploymentStatus, z.int().min(0)).describe('Everybody by employment status, after the sync.'),
  })
  .meta({ id: 'IdentitySync' })
export type SyncResult = z.infer<typeof SyncResult>

/** Starts with a letter or digit and needs no escaping in an address. */
const OperatorName = z
  .string()
  .max(100)
  .regex(/^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@'+-]*$/u, {
    error: "must begin with a letter or digit and hold only letters, digits, spaces and . _ @ ' + -",
  })
const leastPasswordLength = 12
const Password = z
  .string()
  .min(leastPasswordLength, { error: `must have at least ${leastPasswordLength} characters` })
  .max(1000)
  .meta({ format: 'password' })

export const OperatorInput = z.strictObject({
  name: OperatorName.describe('What the operator signs in with.'),
  account: Name.nullable().describe('The one account that the operator sees; null: all.'),
  password: Password,
})
export type OperatorInput = z.infer<typeof OperatorInput>

export const OperatorPassword = z.strictObject({ name: OperatorName, password: Password })
export type OperatorPassword = z.infer<typeof OperatorPassword>

export const OperatorListing = z
  .object({ id: Id, name: OperatorName, account: Name.nullable(), createdAt: Timestamp })
  .meta({ id: 'Operator' })
export type OperatorListing = z.infer<typeof OperatorListing>

export const SeedDocument = z.strictObject({
  accounts: z.array(
    AccountInput.extend({
      workspaces: z
        .array(
          z.strictObject({
            name: Name,
            primary: z.boolean().default(false),
            description: z.string().nullable().default(null),
            howItWorks: z.string().nullable().default(null),
            url: z.string().nullable().default(null),
          }),
        )
        .default([]),
      people: z.array(z.strictObject({ email: z.email().max(191), firstName: Name, lastName: Name })).default([]),
    }),
  ),
})
export type SeedDocument = z.infer<typeof SeedDocument>

export const SeedResult = z
  .object({ accounts: z.int().min(0), workspaces: z.int().min(0), people: z.int().min(0) })
  .meta({ id: 'Seeded', description: 'What was not there before.' })
export type SeedResult = z.infer<typeof SeedResult>

/** What the operator of a platform may do while it runs. */
export const operatorOperations = operations({
  createAccount: {
    method: 'POST',
    path: '/accounts',
    summary: 'Open an account.',
    body: AccountInput,
    success: { 201: AccountSummary },
    errors: [400, 401, 409, 500],
  },
  createKey: {
    method: 'POST',
    path: '/keys',
    summary: 'Make an API key.',
    body: KeyInput,
    success: { 201: CreatedKey },
    errors: [400, 401, 404, 500],
  },
  listKeys: {
    method: 'GET',
    path: '/keys',
    summary: 'All API keys, without the keys themselves.',
    success: { 200: z.object({ data: z.array(KeyListing) }) },
    errors: [401, 500],
  },
  revokeKey: {
    method: 'DELETE',
    path: '/keys/:keyId',
    summary: 'End an API key for good.',
    params: z.object({ keyId: Id }),
    success: { 204: null },
    errors: [400, 401, 404, 500],
  },
  syncIdentities: {
    method: 'POST',
    path: '/identity-syncs',
    summary: 'Run the identity sync of an account now.',
    body: z.strictObject({ account: Name }),
    success: { 201: SyncResult },
    errors: [400, 401, 404, 409, 500],
  },
  seed: {
    method: 'POST',
    path: '/seeds',
    summary: 'Add what a seed names and is not there yet.',
    body: SeedDocument,
    success: { 201: SeedResult },
    errors: [400, 401, 500],
  },
  createOperator: {
    method: 'POST',
    path: '/operators',
    summary: 'Let somebody use the Personnel page.',
    body: OperatorInput,
    success: { 201: OperatorListing },
    errors: [400, 401, 404, 409, 500],
  },
  listOperators: {
    method: 'GET',
    path: '/operators',
    summary: 'Everybody who may use the Personnel page.',
    success: { 200: z.object({ data: z.array(OperatorListing) }) },
    errors: [401, 500],
  },
  setOperatorPassword: {
    method: 'PUT',
    path: '/operators/:operatorName/password',
    summary: "Replace an operator's password and end their sessions.",
    params: z.object({ operatorName: OperatorName }),
    body: z.strictObject({ password: Password }),
    success: { 204: null },
    errors: [400, 401, 404, 500],
  },
  removeOperator: {
    method: 'DELETE',
    path: '/operators/:operatorName',
    summary: 'Let somebody no longer use the Personnel page, from now on.',
    params: z.object({ operatorName: OperatorName }),
    success: { 204: null },
    errors: [400, 401, 404, 500],
  },
})
