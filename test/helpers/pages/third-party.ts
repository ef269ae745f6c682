import { type Locked, licenseFiles, licenseOf, lockedPackages } from '../packages.ts'

const head = `# Third-party notices

Rollcall uses these packages where it runs. They are installed from npm as they are, each with its own files; nothing of them is copied into this
repository or changed. The words of each licence are in the package's folder below \`node_modules\`, in the file that the last column names.

\`openpgp\` is under the LGPL, version 3 or later: Rollcall uses it as an unmodified library, from a folder of its own
(\`node_modules/openpgp\`). It can be replaced there by another version with the same interface, without building anything. Only sources with
\`decrypt\` load it.

Made from \`package-lock.json\` by \`npx vitest run test/packages/packages.test.ts -u\`; a test compares the two.

| Package | Version | Licence | File |
|---|---|---|---|
`

const optionalHead = `
These are installed where the machine can use them, unless \`npm ci --omit=optional\` leaves them out; their folders hold the words too. The container
image has those that fit its system, except the packages with a Node: it has a Node of its own.

| Package | Version | Licence |
|---|---|---|
`

/** The page THIRD-PARTY-NOTICES.md. */
export async function thirdPartyPage(): Promise<string> {
  const packages = (await lockedPackages()).filter(({ dev }) => !dev)
  const required = await rows(
    packages.filter((one) => !one.optional),
    async (one) => `${(await licenseFiles(one)).join(', ') || 'README'} |`,
  )
  const optional = await rows(
    packages.filter((one) => one.optional),
    async () => '',
  )
  return `${head}${required}${optionalHead}${optional}`
}

async function rows(packages: readonly Locked[], last: (one: Locked) => Promise<string>): Promise<string> {
  const made = await Promise.all(
    packages.map(async (one) =>
      `| \`${one.name}\` | ${one.version} | ${await licenseOf(one)} | ${await last(one)}`.trimEnd(),
    ),
  )
  // A package that is installed at several places is listed once.
  return [...new Set(made)].map((row) => `${row}\n`).join('')
}
