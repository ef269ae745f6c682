import { withOptionalPackage } from '../../system/optional-package.ts'

/** Imports `connectSftp` and its optional package. Throws a failure that names the package if it is missing. */
export const loadSftp = () => withOptionalPackage(() => import('./connect.ts'), { name: 'ssh2', use: 'SFTP' })
