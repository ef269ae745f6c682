import { z } from 'zod'
import { operations } from '../operation.ts'
import { Id } from './common.ts'
import { DeviceDocument } from './devices.ts'
import { deviceEvidence, documentExpand, fileFields } from './documents.ts'

/** A new document about a device. */
export const DeviceDocumentCreate = z
  .object({ type: z.enum(deviceEvidence), ...fileFields })
  .meta({ id: 'DeviceDocumentCreateRequestPublicV2Dto' })
export type DeviceDocumentCreate = z.infer<typeof DeviceDocumentCreate>

const devicePath = z.object({ deviceId: Id })
const documentPath = z.object({ deviceId: Id, documentId: Id })
const expand = documentExpand('DeviceDocumentExpandEnum')

/** The operations on documents that prove something about a device. */
export const deviceDocuments = operations({
  listDeviceDocuments: {
    method: 'GET',
    path: '/devices/:deviceId/documents',
    summary: 'Get Device Documents',
    description: 'The documents about a device.',
    permission: 'devices-get-documents',
    params: devicePath,
    query: z.object({ ...expand, type: z.enum(deviceEvidence).optional() }),
    success: {
      200: z.object({ documents: z.array(DeviceDocument) }).meta({ id: 'DeviceDocumentsResponsePublicV2Dto' }),
    },
    errors: [400, 401, 403, 404, 412, 500],
  },
  createDeviceDocument: {
    method: 'POST',
    path: '/devices/:deviceId/documents',
    summary: 'Upload Document For Device',
    description: 'Upload a document about a device. It makes the matching compliance check of the device pass.',
    permission: 'devices-post-document',
    params: devicePath,
    body: DeviceDocumentCreate,
    takesForms: true,
    success: { 201: DeviceDocument },
    errors: [400, 401, 403, 404, 412, 413, 500, 503],
  },
  getDeviceDocument: {
    method: 'GET',
    path: '/devices/:deviceId/documents/:documentId',
    summary: 'Get Device Document',
    description: 'One document about a device.',
    permission: 'devices-get-download-document',
    params: documentPath,
    query: z.object(expand),
    success: { 200: DeviceDocument },
    errors: [400, 401, 403, 404, 412, 500],
  },
  deleteDeviceDocument: {
    method: 'DELETE',
    path: '/devices/:deviceId/documents/:documentId',
    summary: 'Delete Device Document',
    description: 'Delete a document about a device, with its file.',
    permission: 'devices-delete-document',
    params: documentPath,
    success: { 200: null },
    errors: [400, 401, 403, 404, 412, 500],
  },
})
