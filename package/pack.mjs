// Makes the package that `npm install -g` takes. Node refuses to strip types of files below node_modules, so each file of src/ is in the
// package as JavaScript, with blanks in place of its types: every line and column stays where it is, and stack traces fit the sources.
// Plain JavaScript that needs no other package, so that a fresh checkout and the build of the image can run it.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** What the package has of config/: by name, because an operator may keep keys of their own beside it. */
const configured = [
  'control-library.yaml',
  'platform-seed.yaml',
  'rollcall.schema.json',
  'rollcall.yaml',
  'examples',
  'grafana',
  'kubernetes',
  'presets',
  'prometheus',
  'samples',
]
/** What the package has beside bin/ and src/, as it is. */
const copied = [
  ...configured.map((name) => `config/${name}`),
  ...['docs', 'CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'THIRD-PARTY-NOTICES.md'],
]
/** The settings of package.json that whoever installs the package needs. Its Node comes along, so `engines` would only warn. */
const manifestKeys = [
  'name',
  'version',
  'description',
  'license',
  'type',
  'bin',
  'dependencies',
  'optionalDependencies',
  'overrides',
]
/** A password that `docker-compose up` falls back to. Your own may be in its place. */
const left = ['config/examples/compose-password']

if (module.stripTypeScriptTypes === undefined) {
  process.stderr.write(`✖ Packing needs Node 22.13 or newer, and this is ${process.version}: run "npm ci" first\n`)
  process.exitCode = 78
} else {
  pack(resolve(process.argv[2] ?? '.'))
}

/** Writes the package into a folder and prints its name. */
function pack(folder) {
  silenceExperimentalWarnings()
  const stage = mkdtempSync(join(tmpdir(), 'rollcall-package-'))
  try {
    fillStage(stage)
    mkdirSync(folder, { recursive: true })
    const words = ['pack', stage, '--pack-destination', folder, '--ignore-scripts', '--silent']
    process.stdout.write(execFileSync('npm', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }))
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

function fillStage(stage) {
  for (const name of copied) cpSync(join(root, name), join(stage, name), { recursive: true })
  for (const name of left) rmSync(join(stage, name), { force: true })
  for (const file of [...filesBelow('bin'), ...filesBelow('src')]) {
    const path = join(stage, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, packedContent(file))
  }
  chmodSync(join(stage, 'bin/rollcall'), 0o755)
  const manifest = packedManifest()
  writeJson(join(stage, 'package.json'), manifest)
  writeJson(join(stage, 'npm-shrinkwrap.json'), packedLock(manifest))
}

/** The files below a folder of the repository, as paths from its root. */
function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length))
}

function packedContent(file) {
  const content = readFileSync(join(root, file))
  if (file.endsWith('.ts')) return namedAsJavaScript(module.stripTypeScriptTypes(content.toString('utf8')))
  return file.endsWith('.mjs') ? namedAsJavaScript(content.toString('utf8')) : content
}

/** Names files of ours by their new ending, in imports and where a thread starts. It is as long as the old one. */
function namedAsJavaScript(code) {
  return code.replaceAll(/(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g, '$1$2.js$1')
}

function packedManifest() {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.fromEntries(manifestKeys.map((key) => [key, manifest[key]]))
}

/** The lock file without the packages of developers: npm installs the versions of the others, and checks what arrives by their SHA-512. */
function packedLock(manifest) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const { overrides: _, description: __, type: ___, ...top } = manifest
  const packages = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && !dev)
  return { ...lock, packages: { '': top, ...Object.fromEntries(packages) } }
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** Stripping types is experimental in Node's words; the tests run the result. */
function silenceExperimentalWarnings() {
  const emit = process.emitWarning
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).startsWith('stripTypeScriptTypes')) emit.call(process, warning, ...rest)
  }
}
