import type { MappingPatch } from '../../identity/mapping/mapping.ts'

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

/** Where people's fields are in a user of SCIM, unless a connection says otherwise. An external ID is the sender's own key of a person. */
export const scimMapping: MappingPatch = {
  fields: {
    identityId: 'externalId',
    email: { column: 'emails.0.value', optional: true },
    firstName: { column: 'name.givenName', optional: true },
    lastName: { column: 'name.familyName', optional: true },
    jobTitle: { column: 'title', optional: true },
    managerId: { column: `${enterprise}.manager.value`, optional: true },
    managerName: { column: `${enterprise}.manager.displayName`, optional: true },
  },
  status: { column: 'active', optional: false, leftWhen: ['false'], employedWhen: ['true'] },
  statusMeans: 'now',
}
