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
    matches: /^PUT \S+\/hris-user-identities\/\{userIdentityId\}: not published$/,
    reason: 'The specification has this operation; the published document dropped it.',
  },
  {
    matches: /^PUT \/personnel\/\{personnelId\}: published only$/,
    reason: 'Editing people by hand is not part of what we serve; only the reset of such edits is.',
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
