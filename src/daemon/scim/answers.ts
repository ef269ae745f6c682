import { ScimError } from '../../connectors/scim/errors.ts'
import { isActive } from '../../connectors/scim/person.ts'
import { type Projection, project } from '../../connectors/scim/projection.ts'
import type { ScimObject, ScimResource } from '../../connectors/scim/resource.ts'
import { coreSchemas, isExtensionName } from '../../connectors/scim/schemas.ts'
import type { StoredMember, UserGroup } from '../../store/scim/members.ts'
import type { ResourceKind, StoredResource } from '../../store/scim/resources.ts'

/** An answer to a sender. */
export type ScimAnswer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** What a request says besides its body. */
export type ScimRequest = {
  /** The address of the connection, such as https://rollcall.acme.example/scim/v2/hr. */
  readonly base: string
  readonly projection: Projection
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
}

/** A stored resource in the form of the standard. */
export type ResourceView = {
  readonly kind: ResourceKind
  readonly stored: StoredResource
  /** The members of a group, if the request asks for them. */
  readonly members?: readonly StoredMember[]
  /** The groups of a user, if the request asks for them. */
  readonly groups?: readonly UserGroup[]
}

/** The resource as a sender reads it, with the attributes that the request asks for. */
export function present(
  { kind, stored, members, groups = [] }: ResourceView,
  { base, projection }: ScimRequest,
): ScimObject {
  const resource = stored.body as ScimResource
  const extensions = Object.keys(resource).filter(isExtensionName)
  const whole: ScimObject = {
    schemas: [coreSchemas[kind], ...extensions],
    id: stored.id,
    ...resource,
    ...(kind === 'User' && { active: isActive(resource) }),
    ...(members && { members: members.map((member) => presentMember(member, base)) }),
    // A user without groups has no such attribute (RFC 7643, section 2.5).
    ...(groups.length > 0 && { groups: groups.map((group) => presentGroup(group, base)) }),
    meta: {
      resourceType: kind,
      created: stored.createdAt.toISOString(),
      lastModified: stored.changedAt.toISOString(),
      version: versionOf(stored),
      location: locationOf({ kind, stored }, base),
    },
  }
  return project(whole, projection)
}

/** The answer with one resource. */
export function answerWith(status: 200 | 201, presented: ResourceView, request: ScimRequest): ScimAnswer {
  const headers = {
    etag: versionOf(presented.stored),
    ...(status === 201 && { location: locationOf(presented, request.base) }),
  }
  return { status, headers, body: present(presented, request) }
}

/** Refuses a change of a resource that has another version than the sender knows (RFC 7644, section 3.14). */
export function requireVersion(stored: StoredResource, { ifMatch }: Pick<ScimRequest, 'ifMatch'>): void {
  if (ifMatch === undefined || namesVersion(ifMatch, stored)) return
  throw new ScimError(412, 'the resource was changed meanwhile: read it again')
}

/** Whether a sender has this version of a resource already. */
export function isKnown(stored: StoredResource, { ifNoneMatch }: Pick<ScimRequest, 'ifNoneMatch'>): boolean {
  return ifNoneMatch !== undefined && namesVersion(ifNoneMatch, stored)
}

/** The refusal for a resource that is not there. */
export function notFound(kind: ResourceKind): ScimError {
  return new ScimError(404, `there is no ${kind} with this ID`)
}

function namesVersion(header: string, stored: StoredResource): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(versionOf(stored).replace(/^W\//, ''))
}

/** The version of a resource, as headers and `meta` state it. */
export function versionOf({ version }: StoredResource): string {
  return `W/"${version}"`
}

function locationOf({ kind, stored }: Pick<ResourceView, 'kind' | 'stored'>, base: string): string {
  return `${base}/${kind}s/${stored.id}`
}

/** RFC 7643, section 4.1.2: read-only, changed through the group. Groups within groups are not followed, so that all are direct. */
function presentGroup({ value, display }: UserGroup, base: string): ScimObject {
  return { value, display, $ref: `${base}/Groups/${value}`, type: 'direct' }
}

function presentMember({ value, display, kind }: StoredMember, base: string): ScimObject {
  return {
    value,
    ...(display !== null && { display }),
    $ref: `${base}/${kind}s/${encodeURIComponent(value)}`,
    type: kind,
  }
}
