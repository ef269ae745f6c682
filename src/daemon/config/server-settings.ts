import { z } from 'zod'
import { secretReference } from '../../connectors/file/source-settings.ts'
import { roles } from '../../contract/control/access.ts'
import { MetricsAccess, openOnLoopback } from './metrics-settings.ts'
import { isUnencrypted } from './platform-address.ts'

const minTokenLength = 16

const Oidc = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(60)
      .default('your company account')
      .describe('The text of the sign-in button after "Sign in with".'),
    issuer: z
      .url({ protocol: /^https?$/, error: 'expected an address that begins with https://' })
      .refine((text) => !isUnencrypted(text), { error: 'http:// is allowed only for this machine' })
      .describe('The address of the provider, before /.well-known/openid-configuration.'),
    clientId: z.string().min(1).describe('The client ID of Rollcall at the provider.'),
    clientSecret: z.string().min(1).describe(`The secret of the client, as ${secretReference}.`),
    scopes: z
      .array(z.string().regex(/^[!#-[\]-~]+$/))
      .default(['openid', 'profile', 'email'])
      .refine((scopes) => scopes.includes('openid'), { error: 'openid is missing' })
      .describe('The requested scopes. Some providers need one for the groups.'),
    rolesFrom: z.string().min(1).default('groups').describe('The claim that names the groups of a person.'),
    roles: z
      .record(z.string(), z.enum(roles))
      .refine((groups) => Object.keys(groups).length > 0, { error: 'name at least one group' })
      .describe('The role of each group. A person gets the highest role of their groups, and is refused without one.'),
  })
  .describe(
    'Lets people sign in by OpenID Connect. It needs publicUrl, where the provider sends them back to /sign-in/callback.',
  )

const ProxyAddress = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

const Server = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1').describe('The address that the daemon listens on.'),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .default(8686)
      .describe('The port that the daemon listens on. 0 means any free port.'),
    token: z
      .string()
      .refine((token) => token === '' || token.length >= minTokenLength, {
        error: `is shorter than ${minTokenLength} characters: make one with "openssl rand -base64 32"`,
      })
      .optional()
      .describe(
        `A token of the role admin for the control API over TCP, as ${secretReference}, in addition to the tokens of "rollcall token create". Default: none.`,
      ),
    publicUrl: z
      .url({ protocol: /^https?$/, error: 'expected an address that begins with https:// or http://' })
      .refine((text) => URL.parse(text)?.pathname === '/' && !/[?#@]/.test(text), {
        error: 'names more than a host: write it as https://rollcall.acme.example',
      })
      .optional()
      .describe(
        'The address that people use for the console, for example that of a proxy. With https:// its cookies travel over HTTPS only. Default: host and port.',
      ),
    trustedProxies: z
      .array(
        z.string().refine((text) => ProxyAddress.safeParse(text).success, {
          error: 'expected an address or a network, such as 10.0.0.0/8',
        }),
      )
      .default([])
      .describe(
        'The addresses or networks of your proxies, whose X-Forwarded-For names the sender. Without it, everybody behind a proxy shares one rate limit for wrong tokens.',
      ),
    hosts: z
      .array(z.string().regex(/^[a-z0-9.-]+$/, { error: 'expected a host name in lower case, without a port' }))
      .default([])
      .describe(
        'Other host names under which the daemon is reached. Requests with any other Host header are refused. This protects against DNS rebinding, by which a website could reach the daemon through a browser.',
      ),
    sessions: z
      .strictObject({
        idleMinutes: z.int().min(1).max(1440).default(60).describe('After this idle time a person signs in again.'),
        hours: z
          .int()
          .min(1)
          .max(168)
          .default(12)
          .describe('Maximum duration of a sign-in, even if the person is active.'),
      })
      .prefault({})
      .describe('How long people stay signed in.'),
    oidc: Oidc.optional(),
    metrics: MetricsAccess,
  })
  .superRefine(({ oidc, publicUrl }, context) => {
    if (oidc === undefined || publicUrl !== undefined) return
    const message = 'needs server.publicUrl: the provider sends people back there'
    context.addIssue({ code: 'custom', path: ['oidc'], message })
  })

/** The daemon's own server, as the file has it. */
export const ServerSettings = Server.refine(openOnLoopback.holds, openOnLoopback.otherwise)
