/** What a reader of the document needs to know before any single operation. */
export const introduction = `
Everything is JSON over HTTP, below one base address. This page is drawn from \`/public/v2/openapi.json\`, from which clients can be
generated.

## Keys

Send a key with every request: \`Authorization: Bearer <key>\`. The operator of the platform makes keys with
\`rollcall platform keys create --account NAME --name NAME\`; a key belongs to one account and says which operations it may call.
The checks come in this order, and the first one that fails is answered:

| Status | Reason |
|---|---|
| 401 | the key is missing, unknown, expired, revoked, or not for use from this address; \`WWW-Authenticate\` says which scheme is wanted |
| 412 | the account has not accepted the terms |
| 402 | the plan of the account does not include the feature |
| 403 | the key does not hold the permission of the operation |
| 400 | the path, the query or the body is not what the operation takes |
| 404 | what the request names is not there, or belongs to another account |

## Lists and pages

A list answers \`{ "data": [...], "pagination": { "cursor": "..." } }\`. Send \`cursor\` back, with the same filters and the same order, for the
next page; where it is missing, nothing follows. \`size\` is 1 to 500, and 50 if it is left out. A walk meets every entry that is there from
its first page to its last, also while entries come and go. \`includeTotalCount=true\` counts all matches on the first page.

Repeat a parameter that takes several values: \`expand[]=owner&expand[]=device\`. \`expand=owner\` and \`expand[0]=owner\` mean the same.
Parameters that an operation does not know are ignored, but one that is almost spelled right is refused: \`Size\`, \`size[]\`, \`expand[x]\`.

## Errors

The body of an error has \`statusCode\`, \`message\` (for a person; it names the field and never its value) and \`code\` (a stable number for a
program). Errors about the request also have \`name\`. Every answer carries \`X-Request-Id\`, which stands in the log of the platform as well; send
one of your own (8 to 128 letters, digits, \`_\`, \`.\` or \`-\`), and it is kept.

## Limits

- Requests of one address: 500 a minute, unless the operator set another number. \`RateLimit-Policy\` and \`RateLimit\` say with every
  answer what the limit is, how many requests are left (\`r\`) and in how many seconds the minute ends (\`t\`). Beyond it comes 429 with
  \`Retry-After\` in seconds.
- A body: 10 MiB (413). The headers, the address included: 16 KiB (431). A request has to arrive within a minute (408).
- Answers are compressed for callers that send \`Accept-Encoding\` with \`br\`, \`gzip\` or \`deflate\`. Bodies of requests must not be.

\`HEAD\` is served wherever \`GET\` is. Other methods are answered with 405 and \`Allow\`.

## Examples

Every operation has one that succeeds on a platform that holds the seed \`config/platform-seed.yaml\` and nothing else: send those that create
something first, in the order of this page. Ids of notes, events and audits are random, so take one from their list.
`.trim()
