import { z } from 'zod'
import { operations } from '../operation.ts'
import { customConnections } from './custom-connections.ts'
import { hrisUserIdentities, Identity, ItemResult } from './hris-user-identities.ts'

const ItemOutcome = ItemResult.extend({ data: Identity.pick({ identityId: true, separatedAt: true }).nullable() })
const ItemOutcomes = z.compile(z.array(ItemOutcome))

/**
 * The operations as a delivery calls them. Of the result of an item it relies on nothing but what it uses: whom the result is
 * about, and the leaving date that is stored now. What else a platform says there cannot keep people from being settled.
 */
export const deliveryOperations = operations({
  ...customConnections,
  ...hrisUserIdentities,
  upsertHrisUserIdentities: {
    ...hrisUserIdentities.upsertHrisUserIdentities,
    success: { 200: ItemOutcomes, 201: ItemOutcomes, 207: ItemOutcomes },
  },
})
