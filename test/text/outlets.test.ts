import { randomUUID } from 'node:crypto'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { createProgress } from '../../src/cli/render/progress.ts'
import { type Paint, plain } from '../../src/cli/render/text.ts'
import { createOutput } from '../../src/cli/session/output.ts'
import { postedText } from '../../src/daemon/alerts/posting.ts'
import { createSender } from '../../src/daemon/alerts/senders.ts'
import { mailMessage } from '../../src/daemon/alerts/smtp.ts'
import { requestsFor } from '../../src/daemon/alerts/templates.ts'
import { leaversCsv } from '../../src/daemon/reports/leavers-csv.ts'
import { leaversPage } from '../../src/daemon/reports/leavers-page.ts'
import { Failure } from '../../src/errors.ts'
import { Refusal } from '../../src/http/refusal.ts'
import { createApp, send } from '../../src/http/server/app.ts'
import { layout } from '../../src/platform/page/layout.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createLogger, createServerLogger } from '../../src/telemetry/log.ts'
import { startTraces } from '../../src/telemetry/otlp.ts'
import { setInheritedAttributes } from '../../src/telemetry/traces.ts'
import { standardError } from '../../src/text/print.ts'
import { problemCard } from '../../src/web/layout.ts'
import { webhookChannel } from '../helpers/alert-settings.ts'
import { startCollector } from '../helpers/collector.ts'
import { runDocument } from '../helpers/control-documents.ts'
import { leaverDocument, reportDocument } from '../helpers/leaver-documents.ts'
import { forged, nasty, unseen } from '../helpers/nasty.ts'
import { raised } from '../helpers/notices.ts'
import { startAlertReceiver } from '../helpers/sources/alert-receiver.ts'
import { filled, ofTheDemo, rendered } from './renderers.ts'

const everyNasty = Object.values(nasty).join(' ')
const variants = Array.from({ length: 12 }, (_, at) => at)

afterEach(() => vi.restoreAllMocks())

/** Every place where a text from outside leaves the program, and what it makes of one. */
const outlets: Readonly<Record<string, (text: string) => string | Promise<string>>> = {
  'a remark of a command': (text) =>
    spied('stderr', () => createOutput({ json: false }).printMessage(`✖ ${visibleText(text)}`)),
  'the result of a command': (text) =>
    spied('stdout', () => createOutput({ json: false }).printResult(text, (shown) => `✖ ${visibleText(shown)}`)),
  'the result of a command as JSON': (text) =>
    spied('stdout', () => createOutput({ json: true }).printResult({ text }, String)),
  'the progress of a run on a terminal': (text) => {
    const terminal = { ...standardError, isTerminal: true, paint: plain, columns: 80 }
    const connection = visibleText(text)
    return spied('stderr', () => createProgress(terminal).show(runDocument({ connection }))).replace('\r\u001b[K', '')
  },
  'the log': (text) => logged(text, { pretty: false }),
  'the log for people': (text) => logged(text, { pretty: true }),
  'the log of a server': (text) => spied('stderr', () => createServerLogger().error({ text }, visibleText(text))),
  'the Personnel page': (text) =>
    String(
      layout({
        title: text,
        content: problemCard({ message: text, back: { name: text, href: text } }),
        // Browsers read other characters from references to these, and a form has to send them back.
        visitor: { name: text, formToken: text.replaceAll(/[\u0080-\u009f]/g, '') },
        assets: { style: text, icon: text },
      }),
    ),
  'the page of a report': (text) => leaversPage(reportDocument([leaverOf(text)])),
  'the table of a report': (text) => leaversCsv(reportDocument([leaverOf(text)])).replaceAll('\r\n', '\n'),
  'an alert in Slack': postedAlert('slack'),
  'an alert in Teams': postedAlert('teams'),
  'an alert in PagerDuty': postedAlert('pagerduty'),
  'an alert in Opsgenie': postedAlert('opsgenie'),
  'an alert by mail': (text) => {
    const { subject, text: body } = mailMessage(raised({ reason: text }), {
      from: 'a@b.example',
      to: [],
      linkOf: () => null,
    })
    return `${subject}\n${body}`
  },
  'an alert to a program': async (text) => {
    await using receiver = await startAlertReceiver()
    await using sender = createSender(webhookChannel(receiver.url), { linkOf: () => null })
    await sender.send({ ...raised({ reason: text }), now: new Date() }, new AbortController().signal)
    return receiver.received.map((alert) => alert.text).join()
  },
  'a trace': async (text) => {
    await using collector = await startCollector()
    const process = { text }
    const about = { endpoint: collector.url, sampleRatio: 1, serviceName: 'rollcall', version: '1', process }
    {
      await using traces = await startTraces({ ...about, headers: async () => ({}) }, silentEvents())
      await traces.ofRun({ runId: randomUUID(), name: 'job', attributes: { text } }, async () =>
        setInheritedAttributes({ more: text }),
      )
    }
    return collector.bodies.join()
  },
  'an answer of an API': (text) => answered((reply) => send(reply, { status: 200, body: { text, [text]: text } })),
  'a refusal of an API': (text) =>
    answered(() => {
      throw new Refusal(400, text)
    }),
}

describe.each(Object.entries(outlets))('%s', (_name, outlet) => {
  test.each(Object.entries(nasty))('shows %s as an escape', async (_what, text) => {
    const output = await outlet(text)

    expect(output).toContain('begin')
    expect(output).toContain('end')
    expect(output).not.toMatch(unseen)
    expect(output).not.toMatch(forged)
  })
})

test.each(Object.entries(nasty))('programs read %s as it was given', async (_what, text) => {
  const [printed, answer] = await Promise.all(
    ['the result of a command as JSON', 'an answer of an API'].map((name) => outlets[name]?.(text)),
  )

  expect(JSON.parse(printed ?? '')).toEqual({ text })
  expect(JSON.parse(answer ?? '')).toEqual({ text, [text]: text })
})

test.each(Object.entries(nasty))(
  'a command line that holds %s is refused in words that show it',
  async (_what, text) => {
    const program = createProgram(() => {})

    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    await expect(program.parseAsync([text], { from: 'user' })).rejects.toThrow()
    const output = write.mock.calls.map(([chunk]) => String(chunk)).join('')

    expect(output).toContain('begin')
    expect(output).not.toMatch(unseen)
  },
)

describe('what a command renders', () => {
  const renderers = new Map<string, (...parameters: unknown[]) => string>()
  beforeAll(async () => {
    const src = fileURLToPath(new URL('../../src/cli/', import.meta.url))
    for await (const file of glob('{render,commands,demo}/*.ts', { cwd: src })) {
      const module: Record<string, unknown> = await import(join(src, file))
      for (const [name, value] of Object.entries(module))
        if (/^render[A-Z]/.test(name)) renderers.set(name, value as (...parameters: unknown[]) => string)
    }
  })

  test('is known here for every document', () => {
    expect([...renderers.keys()].sort()).toEqual([...Object.keys(rendered), ...ofTheDemo].sort())
  })

  test.each(Object.keys(rendered))('%s shows texts from outside, and nothing is moved by them', (name) => {
    const schemas = [rendered[name] ?? []].flat()
    const render = renderers.get(name)
    if (render === undefined) throw new Error(`no command exports ${name}`)
    const paint: Paint = plain

    const outputs = variants.map((variant) =>
      render(...schemas.map((schema) => filled(schema, everyNasty, variant)), paint),
    )

    const lines = new Set(outputs.flatMap((output) => output.split('\n')))
    expect(lines.size).toBeGreaterThan(0)
    expect([...lines].filter((line) => unseen.test(line) || forged.test(line))).toEqual([])
  })
})

/** What a failure says that quotes a text. */
function postedAlert(type: 'slack' | 'teams' | 'pagerduty' | 'opsgenie'): (text: string) => string {
  return (text) =>
    requestsFor(type, raised({ reason: text }), { key: 'key', linkOf: () => null })
      .map(postedText)
      .join()
}

function visibleText(text: string): string {
  return new Failure('conflict', text).message
}

function leaverOf(text: string) {
  return leaverDocument({ identityId: text, name: text, email: text, findingText: text, foundStatus: text })
}

function spied(name: 'stdout' | 'stderr', act: () => void): string {
  const write = vi.spyOn(process[name], 'write').mockReturnValue(true)
  act()
  const written = write.mock.calls.map(([chunk]) => String(chunk)).join('')
  write.mockRestore()
  return written
}

function logged(text: string, { pretty }: { pretty: boolean }): string {
  const destination = new PassThrough({ encoding: 'utf8' })
  const error = new TypeError(text, { cause: new Failure('conflict', text) })
  createLogger({ level: 'info', destination, pretty }).error({ reason: text, [text]: [text], error }, visibleText(text))
  return stripped(destination.read())
}

async function answered(answer: (reply: Parameters<typeof send>[0]) => unknown): Promise<string> {
  await using app = Object.assign(await createApp(), {
    async [Symbol.asyncDispose]() {
      await app.close()
    },
  })
  app.get('/', async (_request, reply) => answer(reply))
  return (await app.inject('/')).body
}

/** Without the colours of the log, which are not looked for here. */
function stripped(log: string): string {
  return ['2', '22', '31', '39'].reduce((text, code) => text.replaceAll(`\u001b[${code}m`, ''), log)
}
