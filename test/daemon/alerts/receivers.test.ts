import { describe, expect, test } from 'vitest'
import type { AlertLink } from '../../../src/daemon/alerts/links.ts'
import { postingSender } from '../../../src/daemon/alerts/posting.ts'
import type { ChatOrIncidentChannel, Message } from '../../../src/daemon/config/channel.ts'
import { conditionKinds } from '../../../src/store/alerts/condition.ts'
import { secretText, slackChannel } from '../../helpers/alert-settings.ts'
import { cleared, groupNotice, raised, testNotice } from '../../helpers/notices.ts'
import {
  genieKey,
  routingKey,
  startOpsgenie,
  startPagerDuty,
  startTeams,
  workflowPath,
} from '../../helpers/sources/alert-services.ts'

const page = 'https://rollcall.example/runs/r1/decision'
const linkOf: AlertLink = () => page
const { id } = raised().alert

function channelOf(type: ChatOrIncidentChannel['type'], url: string, key: string | null): ChatOrIncidentChannel {
  return slackChannel(url, { type, key: key === null ? null : secretText(key) })
}

async function send(channel: ChatOrIncidentChannel, notice: Message, links: AlertLink = linkOf) {
  await using sender = postingSender(channel, { name: 'one', linkOf: links, timeoutMs: 30_000 })
  return await sender.send(notice, new AbortController().signal)
}

describe('Microsoft Teams', () => {
  const toTeams = ({ url }: { url: string }, path = workflowPath) => channelOf('teams', url + path, null)

  test('gets a card with what happened, what happens if nobody acts, and one button', async () => {
    await using teams = await startTeams()

    expect(await send(toTeams(teams), raised())).toBeNull()

    const [{ body } = { body: {} }] = teams.received
    expect(JSON.stringify(body)).toContain('If nobody acts: The held changes are not sent, ')
    expect(body).toMatchObject({
      attachments: [{ content: { version: '1.4', actions: [{ type: 'Action.OpenUrl', url: page }] } }],
    })
  })

  test('gets texts from outside without markup and hidden signs', async () => {
    await using teams = await startTeams()

    await send(toTeams(teams), raised({ reason: 'see [here](https://evil.example) <at>all</at> \u202e' }))

    const { text = '' } = teams.received[0] ?? {}
    expect(text).not.toContain('\u202e')
    // Text blocks would read it as a link, rich text does not.
    expect(text).not.toContain('"TextBlock"')
  })

  test('gets many alerts as one card below its limit', async () => {
    await using teams = await startTeams()
    const changes = conditionKinds.flatMap((kind) => [raised({ kind, reason: '人'.repeat(900) }), cleared({ kind })])
    const longLink: AlertLink = () => `https://rollcall.example/${'x'.repeat(2000)}`

    expect(await send(toTeams(teams), groupNotice(changes), longLink)).toBeNull()
    expect(
      await send(
        toTeams(teams),
        raised({ reason: '\u0001'.repeat(5000) }),
        () => `https://a.example/${'y'.repeat(30_000)}`,
      ),
    ).toBeNull()
    expect(teams.received.every(({ bytes }) => bytes <= 28 * 1024)).toBe(true)
  })

  test.each([
    [{ status: 400 }, /answers 400 \(the workflow does not take it: it has to begin with/],
    [{ status: 401, body: { error: { message: 'sig=sesame' } } }, /answers 401 \(the workflow does not admit it/],
    [{ status: 404 }, /answers 404 \(there is no such workflow: it was deleted or turned off\)/],
    [{ status: 413 }, /answers 413 \(the message is too large\)/],
    [
      {
        status: 200,
        body: 'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429',
      },
      /passes on that Teams answers 429/,
    ],
  ])('%o is said in a sentence without the address', async (reply, expected) => {
    await using teams = await startTeams()
    teams.next.push(reply)

    const unsent = await send(toTeams(teams), raised())

    expect(unsent?.failure).toMatch(expected)
    expect(unsent?.failure).not.toMatch(/sesame|workflows/)
  })

  test('that has had too much says how long to wait', async () => {
    await using teams = await startTeams()
    teams.next.push({ status: 429, headers: { 'retry-after': '17' } })

    const unsent = await send(toTeams(teams), raised())

    expect(unsent).toMatchObject({ failure: expect.stringContaining('asks to wait 17 s'), retryAfterMs: 17_000 })
  })
})

describe('PagerDuty', () => {
  const toPagerDuty = ({ url }: { url: string }, key = routingKey) => channelOf('pagerduty', url, key)

  test('has one incident for an alert, from its beginning over its reminders to its end', async () => {
    await using service = await startPagerDuty()
    const channel = toPagerDuty(service)

    expect(await send(channel, raised())).toBeNull()
    expect(await send(channel, raised({}, { sentBefore: 1 }))).toBeNull()
    expect([...service.open]).toEqual([id])
    expect(await send(channel, cleared())).toBeNull()

    expect([...service.open]).toEqual([])
    expect(service.received.map(({ body }) => body.event_action)).toEqual(['trigger', 'trigger', 'resolve'])
    expect(service.received[0]?.body).toMatchObject({
      dedup_key: id,
      client_url: page,
      links: [{ href: page }],
      payload: { source: 'acme', class: 'held', severity: 'critical', custom_details: { people: 93, leavers: 91 } },
    })
  })

  test.each(conditionKinds)('takes "%s", however long its reason is', async (kind) => {
    await using service = await startPagerDuty()

    const alert = { kind, connection: '😀'.repeat(900), reason: 'x'.repeat(3000) }
    expect(await send(toPagerDuty(service), raised(alert), () => null)).toBeNull()
  })

  test('is left without an open incident by a test', async () => {
    await using service = await startPagerDuty()

    expect(await send(toPagerDuty(service), testNotice)).toBeNull()

    expect(service.received.map(({ body }) => body.event_action)).toEqual(['trigger', 'resolve'])
    expect(service.received[0]?.body).toMatchObject({ payload: { severity: 'info' } })
    expect([...service.open]).toEqual([])
  })

  test('is found by an address with or without the path', async () => {
    await using service = await startPagerDuty()

    expect(await send(channelOf('pagerduty', `${service.url}/v2/enqueue`, routingKey), raised())).toBeNull()
    expect(await send(channelOf('pagerduty', `${service.url}/`, routingKey), raised())).toBeNull()
  })

  test('with a key of another kind says which setting is wrong', async () => {
    await using service = await startPagerDuty()

    const unsent = await send(toPagerDuty(service, 'u+abcdefghijk'), raised())

    expect(unsent?.failure).toBe(
      `${service.host} answers 400 (routingKey is not the key of an integration "Events API v2")`,
    )
  })

  test.each([
    [{ status: 429 }, 60_000, /too many events in this minute/],
    [{ status: 429, headers: { 'retry-after': '5' } }, 5000, /asks to wait 5 s/],
    [{ status: 503 }, null, /answers 503$/],
    [{ status: 200, body: '<html>Please sign in</html>' }, undefined, /does not answer as PagerDuty does: check url/],
  ])('answering %o is asked again later', async (reply, waitMs, expected) => {
    await using service = await startPagerDuty()
    service.next.push(reply)

    const unsent = await send(toPagerDuty(service), raised())

    expect(unsent?.failure).toMatch(expected)
    expect(unsent?.retryAfterMs).toBe(waitMs)
  })
})

describe('Opsgenie', () => {
  const toOpsgenie = ({ url }: { url: string }, key = genieKey) => channelOf('opsgenie', url, key)

  test('has one alert, which counts its reminders and is closed by its alias', async () => {
    await using service = await startOpsgenie()
    const channel = toOpsgenie(service)

    expect(await send(channel, raised())).toBeNull()
    const other = { code: 'unreachable', reason: 'another cause', people: 400, leavers: 7 }
    expect(await send(channel, raised(other, { sentBefore: 1 }))).toBeNull()
    expect([...service.open]).toEqual([[id, 2]])
    expect([...service.shown.values()]).toEqual([
      {
        message: '[Rollcall] acme: a plan waits for an approval',
        description: expect.stringContaining('another cause'),
        details: expect.objectContaining({ people: '400', leavers: '7' }),
      },
    ])
    expect(await send(channel, cleared())).toBeNull()

    expect([...service.open]).toEqual([])
    expect(service.received[0]?.body).toMatchObject({
      message: '[Rollcall] acme: a plan waits for an approval',
      description: expect.stringContaining(`If nobody acts: The held changes are not sent, `),
      priority: 'P2',
      entity: 'acme',
    })
    expect(service.received[0]?.body.description).toContain(page)
  })

  test.each(conditionKinds)('takes "%s" of a connection with a long name', async (kind) => {
    await using service = await startOpsgenie()
    const alert = { kind, connection: 'x'.repeat(200), reason: '\u0001'.repeat(9000) }

    expect(await send(toOpsgenie(service), raised(alert))).toBeNull()
  })

  test('is left without an open alert by a test', async () => {
    await using service = await startOpsgenie()

    expect(await send(toOpsgenie(service), testNotice)).toBeNull()

    expect(service.received.map(({ path }) => path)).toEqual([
      '/v2/alerts',
      '/v2/alerts/test_1/close?identifierType=alias',
    ])
    expect([...service.open]).toEqual([])
  })

  test('may have lost an alert that is to be closed', async () => {
    await using service = await startOpsgenie()
    service.next.push({ status: 404, body: { message: 'Alert does not exist' } })

    expect(await send(toOpsgenie(service), cleared())).toBeNull()
  })

  test.each([
    ['a wrong key', 'sesame', [], /answers 403 \(it does not accept apiKey: .* check the key and region\)$/],
    ['another address', genieKey, [{ status: 404 }], /answers 404 \(no alerts are taken there: check url\)/],
    [
      'a field',
      genieKey,
      [{ status: 422, body: { message: 'Request body is not processable.', errors: { tags: 'Ana Silva' } } }],
      /answers 422 \(it does not accept tags\)$/,
    ],
    ['its plan', genieKey, [{ status: 402 }], /the plan of the account does not allow it/],
  ])('refusing because of %s says so without quoting', async (_what, key, replies, expected) => {
    await using service = await startOpsgenie()
    service.next.push(...replies)

    const unsent = await send(toOpsgenie(service, key), raised())

    expect(unsent?.failure).toMatch(expected)
    expect(unsent?.failure).not.toMatch(/sesame|Ana/)
  })

  test.each([
    [{ 'x-ratelimit-state': 'THROTTLED', 'x-ratelimit-period-in-sec': '30' }, 30_000],
    [{}, 60_000],
  ])('that has had too many requests (%o) is left alone for a while', async (headers, waitMs) => {
    await using service = await startOpsgenie()
    service.next.push({ status: 429, body: { message: 'You are making too many requests!' }, headers })

    expect((await send(toOpsgenie(service), raised()))?.retryAfterMs).toBe(waitMs)
  })
})

test('a receiver that keeps alerts itself gets no message about several', async () => {
  await using pagerDuty = await startPagerDuty()
  await using opsgenie = await startOpsgenie()
  const notice = groupNotice([raised(), raised({ kind: 'stale' })])

  expect(await send(channelOf('pagerduty', pagerDuty.url, routingKey), notice)).toBeNull()
  expect(await send(channelOf('opsgenie', opsgenie.url, genieKey), notice)).toBeNull()
  expect([pagerDuty.received, opsgenie.received]).toEqual([[], []])
})

test('a key is sent without the blanks and ends of lines around it', async () => {
  await using pagerDuty = await startPagerDuty()
  await using opsgenie = await startOpsgenie()

  expect(await send(channelOf('pagerduty', pagerDuty.url, `${routingKey} \n`), raised())).toBeNull()
  expect(await send(channelOf('opsgenie', opsgenie.url, ` ${genieKey}\n\n`), raised())).toBeNull()
})

test('night duty is not called for an alert that was over before it could be sent', async () => {
  await using pagerDuty = await startPagerDuty()
  await using opsgenie = await startOpsgenie()
  const over = raised({ clearedAt: new Date('2026-11-20T05:00:00.000Z') })

  expect(await send(channelOf('pagerduty', pagerDuty.url, routingKey), over)).toBeNull()
  expect(await send(channelOf('opsgenie', opsgenie.url, genieKey), over)).toBeNull()

  expect(pagerDuty.received.map(({ body }) => body.event_action)).toEqual(['resolve'])
  expect(opsgenie.received.map(({ path }) => path)).toEqual([`/v2/alerts/${id}/close?identifierType=alias`])
})
