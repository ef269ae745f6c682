/** How every server that we connect to has to prove who it is, whatever the environment or the command line of Node say. */
export const provenServers = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const
