import { expect, test } from 'vitest'
import { withOptionalPackage } from '../../src/system/optional-package.ts'

const load = (specifier: string) => () => import(specifier)

test('a missing optional package is named, with what needs it and advice', async () => {
  const loading = withOptionalPackage(load('left-out'), { name: 'left-out', use: 'an encrypted export' })

  await expect(loading).rejects.toMatchObject({
    code: 'config_invalid',
    message:
      'an encrypted export needs the package left-out, which was left out here: install Rollcall without --omit=optional',
  })
})

test('a package that is missing for another reason is a bug', async () => {
  const loading = withOptionalPackage(load('not-ours'), { name: 'left-out', use: 'an encrypted export' })

  await expect(loading).rejects.toMatchObject({ code: 'ERR_MODULE_NOT_FOUND' })
})
