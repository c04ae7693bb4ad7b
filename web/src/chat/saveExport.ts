// Saves an exported chat as a file of this device.
import { type ExportFormat, exportChat } from "../state/acts";

export async function saveExport(chatId: string, format: ExportFormat): Promise<void> {
  const { file, name } = await exportChat(chatId, format);
  const address = URL.createObjectURL(file);
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000); // the download has begun by then
}
