/** Where our table says something else than the published document, and why. An entry that matches nothing fails the test. */
export const intendedDifferences: readonly { readonly matches: RegExp; readonly reason: string }[] = [
  {
    matches: / type: published number(?<other> or string)?, ours integer\k<other>$/,
    reason: 'Every number of these areas is an id, a count or a status: whole numbers.',
  },
  {
    matches: /[iI]ds?(?:\[\])? minimum: published none, ours 1$/,
    reason: 'Ids are counted from 1, so zero and negative ones are refused before anything is looked up.',
  },
  {
    matches: /(?:\.totalCount|[cC]ount) minimum: published none, ours 0$/,
    reason: 'A count is never negative.',
  },
  {
    matches: /^GET \S+ 200\.pagination\.cursor required: published true, ours false$/,
    reason: 'The specification leaves the cursor out where nothing follows; the client also accepts null and empty.',
  },
  {
    matches: /^POST \S+ permission: .*, ours custom-connections-data-post or custom-connections-post$/,
    reason: 'The specification shows both keys for creating a connection, so either of them suffices.',
  },
  {
    matches: /^PUT \S+ permission: .*, ours custom-connections-data-put or custom-connections-put$/,
    reason: 'The specification shows both keys for updating a connection, so either of them suffices.',
  },
  {
    matches: /^POST \/custom-connections body\.providerTypes (?:min|max)Items: published none, ours 1$/,
    reason: 'A connection has exactly one type, as in every published example.',
  },
  {
    matches: /^PUT \S+\/hris-user-identities\/\{userIdentityId\}: not published$/,
    reason: 'The specification has this operation; the published document dropped it.',
  },
  {
    matches:
      /^\w+ (?:\/groups|(?:\/workspaces\/\{workspaceId\})?\/(?:personnel-search|scoped-personnel-\w+)\S*): not published$/,
    reason: 'The stored document is older than these operations of the public reference.',
  },
  {
    matches: /^PUT \/personnel\/\{personnelId\} body\.notHumanReason minLength: published none, ours 1$/,
    reason: 'A reason without a character is none.',
  },
  {
    matches: / body\.(?:name|displayNameKey) minLength: published none, ours 1$/,
    reason: 'A name without a character names nothing.',
  },
  {
    matches: / body\.(?:name|displayNameKey|clientAlias) maxLength: published none, ours 191$/,
    reason: 'The limit that the contract has for all short texts.',
  },
  {
    matches: / body\.description maxLength: published none, ours 768$/,
    reason: 'A description is stored beside the connection and needs some limit; the contract names none.',
  },
  {
    matches: / body\[\]\.identityId (?:minLength: published none, ours 1|maxLength: published none, ours 191)$/,
    reason: 'A key must be there, and must fit the column that every other key of the contract fits.',
  },
  {
    matches: /providerTypes\[\] value (?:MFA|PRIVACY): published none, ours allowed$/,
    reason: 'Two more types that a platform may answer with; a list that holds them stays readable.',
  },
  {
    matches:
      /^GET \/workspaces (?:query expand\[\]\[\] value personnelScope|200\.data\[\]\.scopedPersonnelCount \S+): published none, /,
    reason: 'The platform is known to offer this expansion; the published document does not list it.',
  },
  {
    matches: /(?:[iI]ds?\[\]\[\]|\.testIds\.\w+\[\]) minimum: published none, ours 1$/,
    reason: 'Lists of ids whose name has brackets already, and the ids of tests: counted from 1 as well.',
  },
  {
    matches: /^DELETE \S+ 200\.pagination\.cursor required: published true, ours false$/,
    reason: 'Deleting an owner answers a page of those that remain, and pages leave the cursor out at their end.',
  },
  {
    matches: /\.owners\.data maxItems: published none, ours 10$/,
    reason: 'The contract says in words that an owners subcollection holds at most ten.',
  },
  {
    matches: /^\w+ \S+\/notes(?:\/\{noteId\})? (?:path noteId|query excludeIds\[\]) format: published none, ours uuid$/,
    reason: 'Notes are named by UUIDs; another text names none, and the database would not compare it.',
  },
  {
    matches: / query (?:search|codes\[\]\[\]|frameworkSlug) maxLength: published none, ours 191$/,
    reason: 'A text that is compared with names has the limit of names.',
  },
  {
    matches: / body\.(?:code|comment) minLength: published none, ours 1$/,
    reason: 'A code without a character names nothing, and a note without one says nothing.',
  },
  {
    matches:
      / body\.customFields\[\]\.(?:name maxLength: published none, ours 191|value maxLength: published none, ours 30000)$/,
    reason: 'The limits of short and long texts: values are stored.',
  },
  {
    matches: /^POST \S+\/controls body\.(?:base64Files|externalEvidenceMetadata) format: published none, ours json$/,
    reason: 'Both fields hold JSON, as the examples of the contract say.',
  },
  {
    matches: /^GET \S+\/controls\/\{controlId\} query (?:cursor|size|sort|sortDir) .*, ours none$/,
    reason: 'One control is no list; the published document carries these parameters without a use.',
  },
  {
    matches: /^GET \S+ path auditId format: published none, ours uuid$/,
    reason: 'Audits are named by UUIDs, as the published answers say; another text names none.',
  },
  {
    matches: /^PUT \/workspaces\/\{workspaceId\}\/controls\/\{controlId\}: published only$/,
    reason: 'The specification lists no operation that edits a control.',
  },
  {
    matches: /clientType value \w+: published allowed, ours none$/,
    reason: 'Every integration of the published platform has a value of its own there; a client reads an open string.',
  },
  {
    matches: /^GET \/users\/\{userId\}(?:\/documents(?:\/\{documentId\})?)? 404/,
    reason: 'The published document lists no answer for a user, or a document of a user, who is not there.',
  },
  {
    matches: /^GET \/(?:users|roles\/\{roleId\}\/users) query (?:first|last)Name maxLength: published none, ours 191$/,
    reason: 'No name is longer, so a longer beginning of one is a mistake.',
  },
  {
    matches: /^GET \/assets 400/,
    reason: 'A cursor or a filter that makes no sense needs an answer; the contract lists none.',
  },
  {
    matches:
      /^GET \/(?:assets\/\{assetId\}|custom-connections\/\{connectionId\}(?:\/hris-user-identities)?|(?:connections\/\{connectionId\}|personnel\/\{personnelId\})\/devices) 400/,
    reason:
      'The contract lists no answer to an id, a cursor or an expansion that cannot be; it is the one of all others.',
  },
  {
    matches: /^DELETE (?:\/custom-connections\/\{connectionId\}|\S+\/records\/\{recordId\}|\S+\/notes\/\{noteId\}) 400/,
    reason: 'The contract lists no answer to an id that cannot be, or to a body that is no JSON.',
  },
  {
    matches: /^\w+ \S+ (?:408|415|431)\S*(?: \w+)?: published none, /,
    reason:
      'What the server answers to a request that is too slow, or whose headers are too large, before it reads it.',
  },
  {
    matches: /^(?:POST|PUT|DELETE) \S+ 413\S*(?: \w+)?: published none, /,
    reason: 'Every body has a limit; the contract lists its answer for some operations only.',
  },
  {
    matches: /^\w+ \S+ 429\S*(?: \w+)?: published none, /,
    reason: 'The contract has a limit of requests, and says in words alone that 429 answers what exceeds it.',
  },
  {
    matches: /\/owners query includeUserIds\[\] nullable: published true, ours false$/,
    reason:
      'A query has no null: no filter is a parameter left out. A blank or `null` is what an empty list becomes, and would list everybody.',
  },
  {
    matches: /^GET \/(?:assets\/\{assetId\}|devices\/\{deviceId\}(?:\/apps)?) 404/,
    reason: 'The contract lists no answer for an asset or a device that is not there.',
  },
  {
    matches: /^(?:POST|PUT) \/assets\S* body\.assetClassTypes minItems: published none, ours 1$/,
    reason: 'An asset that belongs to no class is a mistake: the field is required.',
  },
  {
    matches: / body\.\w+Explanation type: published object, ours object or string$/,
    reason: 'The examples of the contract send plain text where its schema says object; answers are objects.',
  },
  {
    matches:
      / (?:query |body\.)(?:serialNumber|macAddress|externalId) (?:maxLength: published none, ours 191|minLength: published none, ours 1)$/,
    reason: 'A key must fit its index, and an empty one would make one device of all that have none.',
  },
  {
    matches: / body\.(?:associatedId|externalOwnerId|customFields\[\]\.name) maxLength: published none, ours 191$/,
    reason: 'The limit that the contract has for all short texts.',
  },
  {
    matches:
      / body\.(?:customFields\[\]\.value|(?:appList|browserExtensions)\[\]\.description) maxLength: published none, ours 30000$/,
    reason: 'The limit that the contract has for longer texts.',
  },
  {
    matches: /^GET \/events\S* (?:query type|200(?:\.data\[\])?\.type) value \w+: published allowed, ours none$/,
    reason:
      'The published document names hundreds of types, mostly of areas that we do not serve; the name is an open string.',
  },
  {
    matches: /^GET \/events query type maxLength: published none, ours 191$/,
    reason: 'No type has a longer name.',
  },
  {
    matches: /^GET \/events\/\{eventId\} path eventId format: published none, ours uuid$/,
    reason: 'The published document says only in words that the id is a UUID.',
  },
  {
    matches: /^GET \/events\/\{eventId\} query (?:cursor|size|sort|sortDir) .*: published \w+, ours none$/,
    reason: 'One event has no pages; such parameters are ignored.',
  },
  {
    matches: /^POST \/background-checks body\.fileKey \w+: published none, ours false$/,
    reason: 'An older rendering has this field; we take no uploads, and say so to whoever sends it.',
  },
  {
    matches: /^GET \/custom-field-definitions(?:\/\{customFieldId\})?: not published$/,
    reason: 'The reference pages of the publisher have these operations; the stored document does not.',
  },
  {
    matches: /^GET \/roles\S* 200\S*\.subject value \w+: published allowed, ours none$/,
    reason: 'The published document names what the areas of its product are called; a client reads an open string.',
  },
  {
    matches: /^POST \S+\/documents body\.base64File format: published none, ours json$/,
    reason: 'The reference pages of the publisher call it a JSON string.',
  },
  {
    matches: / (?:query name maxLength: published none, ours 191|body\.details maxLength: published none, ours 30000)$/,
    reason: 'The limits of short and long texts.',
  },
  {
    matches: / path recordId (?:minLength: published none, ours 1|maxLength: published none, ours 191)$/,
    reason: 'A key must be there, and must fit the column that every other key of the contract fits.',
  },
  {
    matches: / path sessionId (?:minLength: published none, ours 3|maxLength: published none, ours 64)$/,
    reason: 'The limits that the contract has for the same key in the query of the list of records.',
  },
  {
    matches: /^POST \S+\/(?:records|sessions\/\{sessionId\}) 201\.\w+ required: published false, ours true$/,
    reason: 'The result of a single record that was created always has all of its fields.',
  },
]
