import { z } from 'zod'
import { operations } from '../../contract/operation.ts'
import { Id, Timestamp } from '../../contract/platform/common.ts'
import { AccountInput, AccountListing, AccountSummary, CreatedKey, KeyInput, KeyListing } from '../accounts/contract.ts'
import { Name } from '../core/input-texts.ts'
import { SyncResult } from '../identity-sync/sync-result.ts'
import { SeedDocument, SeedResult } from '../seed/document.ts'
import { auditOperations } from './audit-contract.ts'
import { groupOperations } from './group-contract.ts'

/** The path of the operator's API. */
export const operatorPrefix = '/operator/v1'

const maxEntitlements = 100

/** Features of a plan, by name. */
export const Entitlements = z.strictObject({ names: z.array(Name).min(1).max(maxEntitlements) })

/** A sign-in name; it needs no escaping in a URL. */
const OperatorName = z
  .string()
  .max(100)
  .regex(/^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@'+-]*$/u, {
    error: "must begin with a letter or digit and hold only letters, digits, spaces and . _ @ ' + -",
  })
const minPasswordLength = 12
const Password = z
  .string()
  .min(minPasswordLength, { error: `must have at least ${minPasswordLength} characters` })
  .max(1000)
  .meta({ format: 'password' })

/** A new operator of the Personnel page. */
export const OperatorInput = z.strictObject({
  name: OperatorName.describe('What the operator signs in with.'),
  account: Name.nullable().describe('The one account that the operator sees; null: all.'),
  password: Password,
})
export type OperatorInput = z.infer<typeof OperatorInput>

/** The new password of an operator. */
export const OperatorPassword = z.strictObject({ name: OperatorName, password: Password })
export type OperatorPassword = z.infer<typeof OperatorPassword>

/** An operator of the Personnel page. */
export const OperatorListing = z
  .object({ id: Id, name: OperatorName, account: Name.nullable(), createdAt: Timestamp })
  .meta({ id: 'Operator' })
export type OperatorListing = z.infer<typeof OperatorListing>

/** The operations of the operator's API. */
export const operatorOperations = operations({
  createAccount: {
    method: 'POST',
    path: '/accounts',
    summary: 'Open an account.',
    body: AccountInput,
    success: { 201: AccountSummary },
    errors: [400, 401, 409, 500],
  },
  listAccounts: {
    method: 'GET',
    path: '/accounts',
    summary: 'All accounts with their plans and counts.',
    success: { 200: z.object({ data: z.array(AccountListing) }) },
    errors: [401, 500],
  },
  showAccount: {
    method: 'GET',
    path: '/accounts/:account',
    summary: 'One account with its plan and counts.',
    params: z.object({ account: Name }),
    success: { 200: AccountListing },
    errors: [400, 401, 404, 500],
  },
  acceptTerms: {
    method: 'PUT',
    path: '/accounts/:account/terms',
    summary: 'Record that the terms are accepted. A second time changes nothing.',
    params: z.object({ account: Name }),
    success: { 200: AccountListing },
    errors: [400, 401, 404, 500],
  },
  grantEntitlements: {
    method: 'POST',
    path: '/accounts/:account/entitlements',
    summary: 'Add features to the plan of an account.',
    params: z.object({ account: Name }),
    body: Entitlements,
    success: { 200: AccountListing },
    errors: [400, 401, 404, 500],
  },
  revokeEntitlements: {
    method: 'POST',
    path: '/accounts/:account/entitlement-revocations',
    summary: 'Remove features from the plan of an account.',
    params: z.object({ account: Name }),
    body: Entitlements,
    success: { 200: AccountListing },
    errors: [400, 401, 404, 500],
  },
  createKey: {
    method: 'POST',
    path: '/keys',
    summary: 'Create an API key.',
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
    summary: 'Revoke an API key.',
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
    summary: 'Add the objects of a seed that do not exist.',
    body: SeedDocument,
    success: { 201: SeedResult },
    errors: [400, 401, 404, 500],
  },
  createOperator: {
    method: 'POST',
    path: '/operators',
    summary: 'Let a person use the Personnel page.',
    body: OperatorInput,
    success: { 201: OperatorListing },
    errors: [400, 401, 404, 409, 500],
  },
  listOperators: {
    method: 'GET',
    path: '/operators',
    summary: 'All operators of the Personnel page.',
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
    summary: 'Remove an operator of the Personnel page.',
    params: z.object({ operatorName: OperatorName }),
    success: { 204: null },
    errors: [400, 401, 404, 500],
  },
  ...auditOperations,
  ...groupOperations,
})
