import { z } from 'zod'
import { operations } from '../operation.ts'

const settingOrigins = ['file', 'environment', 'secret_file', 'preset', 'default'] as const

/** A setting in effect and where its value comes from. */
export const Setting = z
  .object({
    path: z.string().describe('Its name with those around it, such as `platform.timeoutMs`.'),
    connection: z.string().nullable().describe('Null: it is of no single connection.'),
    value: z
      .string()
      .nullable()
      .describe(
        'Null: it is a secret. A text that is made of references is shown with them, and the members of a list are joined by commas.',
      ),
    line: z.int().nullable().describe('Where it stands in the configuration. Null: it stands there nowhere.'),
    from: z
      .array(
        z.object({
          kind: z.enum(settingOrigins),
          name: z
            .string()
            .nullable()
            .describe('The name of the variable or of the preset, or the path of the file. Null: a default.'),
        }),
      )
      .describe('Where the value comes from; a text may be made of several.'),
  })
  .meta({ id: 'Setting' })
export type Setting = z.infer<typeof Setting>

/** The result of one check of the configuration. */
export const CheckView = z
  .object({
    name: z.string().describe('What was tested.'),
    message: z.string(),
    code: z.string().nullable().describe('Which failure it is. Null: none.'),
    level: z
      .enum(['ok', 'warning', 'rejected', 'failed'])
      .describe('`warning` asks to look, `rejected` says that rows do not count, `failed` would end a run.'),
  })
  .meta({ id: 'Check' })
export type CheckView = z.infer<typeof CheckView>

/** The configuration of a daemon, and whether it holds up. */
export const settingsOperations = operations({
  getSettings: {
    method: 'GET',
    path: '/settings',
    permission: 'operator',
    summary: 'The configuration in effect, with the origin of each setting. Secrets are left out.',
    success: {
      200: z.object({
        file: z.string(),
        readAt: z
          .string()
          .describe('The change time (ctime) of the file when the daemon read it; chmod and rename move it too.'),
        data: z.array(Setting),
      }),
    },
    errors: [401, 403, 404, 500],
  },
  checkConfiguration: {
    method: 'POST',
    path: '/settings/check',
    permission: 'operator',
    summary: 'Test everything that a run needs. Nothing is sent to the platform, and no run is made.',
    description: 'It ends within a minute. What was not tested by then is said in the last check.',
    success: { 200: z.object({ ok: z.boolean(), data: z.array(CheckView) }) },
    errors: [401, 403, 404, 500, 503],
  },
})
