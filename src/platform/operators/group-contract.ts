import { z } from 'zod'
import { operations } from '../../contract/operation.ts'
import { Id } from '../../contract/platform/common.ts'
import { ProvidedGroup, Provider } from '../company/group-input.ts'
import { Name } from '../core/input-texts.ts'

/** A group of an account, and the identity provider that has it. */
export const GroupInput = z.strictObject({ account: Name, provider: Provider, group: ProvidedGroup })

/** Which group of an account is removed. */
export const GroupRemoval = z.strictObject({ account: Name, provider: Name, externalId: Name })

/** The operator's operations on groups; the public API only reads them. */
export const groupOperations = operations({
  setGroup: {
    method: 'PUT',
    path: '/groups',
    summary: 'Make a group of an identity provider, or replace its name and members.',
    body: GroupInput,
    success: { 200: z.object({ id: Id, name: z.string(), members: z.int().min(0) }).meta({ id: 'Group' }) },
    errors: [400, 401, 404, 409, 500],
  },
  removeGroup: {
    method: 'POST',
    path: '/group-removals',
    summary: 'Remove a group, also from the scopes of workspaces.',
    body: GroupRemoval,
    success: { 204: null },
    errors: [400, 401, 404, 500],
  },
})
