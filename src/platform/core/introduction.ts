/** The introduction of the API document. */
export const introduction = `
The API is JSON over HTTP below one base address. This page is generated from \`/public/v2/openapi.json\`; clients can be generated from it
too.

## Keys

Send a key with every request: \`Authorization: Bearer <key>\`. The operator of the platform creates keys with
\`rollcall platform keys create --account NAME --name NAME\`; a key belongs to one account and has permissions for operations.
The platform checks a request in this order and answers the first failure:

| Status | Reason |
|---|---|
| 401 | the key is missing, unknown, expired, revoked, or not allowed from this address; \`WWW-Authenticate\` names the scheme |
| 412 | the account has not accepted the terms |
| 402 | the plan of the account does not include the feature |
| 403 | the key does not have the permission of the operation |
| 400 | the path, the query or the body is invalid |
| 404 | the object does not exist, or belongs to another account |

## Lists and pages

A list returns \`{ "data": [...], "pagination": { "cursor": "..." } }\`. Send \`cursor\` with the same filters and the same order for the
next page; without a cursor there is no next page. \`size\` is 1 to 500, by default 50. Following the cursors returns every entry that exists
all the time, also while other entries come and go. \`includeTotalCount=true\` counts all matches on the first page.

Repeat a parameter with several values: \`expand[]=owner&expand[]=device\`. \`expand=owner\` and \`expand[0]=owner\` mean the same.
Unknown parameters are ignored, but misspelled ones are refused: \`Size\`, \`size[]\`, \`expand[x]\`.

## Errors

The body of an error has \`statusCode\`, \`message\` (for people; it names the field, never its value) and \`code\` (a stable number for a
program). Errors about the request also have \`name\`. Every response has an \`X-Request-Id\`, which is also in the log of the platform; you may send
your own (8 to 128 letters, digits, \`_\`, \`.\` or \`-\`).

## Limits

- Requests of one address: 500 a minute, unless the operator has set another limit, or a bucket that leaks evenly. Every response has
  \`RateLimit-Policy\` with the limit, and \`RateLimit\` with the remaining requests (\`r\`) and the seconds until all are there again
  (\`t\`). Further requests get 429 with \`Retry-After\` in seconds.
- A body: 10 MiB (413). The headers with the URL: 16 KiB (431). A request must arrive within a minute (408).
- Responses are compressed if \`Accept-Encoding\` has \`br\`, \`gzip\` or \`deflate\`. Request bodies must not be compressed.

\`HEAD\` works wherever \`GET\` does. Other methods get 405 with \`Allow\`.

## Examples

Every operation has an example that succeeds on a platform with only the seed \`config/platform-seed.yaml\`: first send those that create
objects, in the order of this page. Ids of notes, events and audits are random: take one from their list.
`.trim()
