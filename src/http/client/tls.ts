/** TLS options that require a valid certificate of every server, whatever the environment and the command line of Node say. */
export const provenServers = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const
